//===- PointEmitter.h - pointwise operators as arith ops --------*- C++ -*-===//
//
// Writes the straight-line code of pointwise operators, on f32 or on vectors
// of f32. NaN and infinity behave as ONNX says, so no fast-math flag but
// `contract` is used; max and min are compare-and-select with the operands in
// the order that lets NaN through in one instruction.
//
// exp is 2^(x log2 e) by a degree-5 polynomial on [-0.5, 0.5] and an exponent
// built in the mantissa of a magic constant: relative error below 3e-7 for x in
// [-87, 88], 0 below, inf above.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_POINTEMITTER_H
#define TLM_LOWER_POINTEMITTER_H

#include "base/Op.h"
#include "task/Task.h"

#include <map>
#include <string>
#include <vector>

namespace tlm {

class PointEmitter {
public:
  /// `lanes` == 0: scalar f32, else vector<lanes x f32>. Value names start with
  /// `prefix`, so that several emitters can share a function.
  explicit PointEmitter(int64_t lanes, std::string prefix);

  /// Emits op(args...) and returns the name of its value.
  std::string emit(Op op, const std::vector<std::string> &args, float a,
                   float b);
  /// A constant's name; constants are emitted apart, before the loops.
  std::string constant(float value);

  std::string add(const std::string &x, const std::string &y);
  std::string sub(const std::string &x, const std::string &y);
  std::string mul(const std::string &x, const std::string &y);
  std::string fma(const std::string &x, const std::string &y,
                  const std::string &z);

  /// Emits the epilogue of a task: `accumulator` and, per operand of role
  /// Extra, its value's name. Returns the name of the result.
  std::string emitEpilogue(const Task &task, const std::string &accumulator,
                           const std::vector<std::string> &extras);

  const std::string &body() const { return text; }
  std::string constants() const;
  void clearBody() { text.clear(); }

private:
  std::string binary(const char *op, const std::string &x, const std::string &y,
                     const char *flags);
  std::string fresh();
  std::string select(const char *predicate, const std::string &x,
                     const std::string &y);
  /// A power of 2 as the product of two factors.
  struct Power {
    std::string mantissa, scale;
  };
  Power power(const std::string &t, float factor, float low);
  std::string exp(const std::string &x);
  std::string sigmoid(const std::string &x);
  /// math.<op>; the pipeline turns erf and tanh into polynomials.
  std::string math(const char *op, const std::string &x);

  int64_t lanes;
  std::string prefix;
  std::string type, integerType;
  std::string text;
  int counter = 0;
  std::map<std::string, std::string> constantNames; ///< literal -> name
  std::vector<std::string> constantOps;
};

} // namespace tlm

#endif // TLM_LOWER_POINTEMITTER_H
