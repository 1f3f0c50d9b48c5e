//===- ScalarEmitter.h - nodes of a computation as arith ops ----*- C++ -*-===//
//
// Writes straight-line scalar code for the operations of ScalarOps.def, with
// its rules for NaN, overflow, division by zero and casts: no fast-math flag
// but `contract`, and `reassoc` for sums of floats, so that LLVM's loop
// vectoriser may take several accumulators. Integers are signless; bool is i1
// here and i8 in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_SCALAREMITTER_H
#define TLM_LOWER_SCALAREMITTER_H

#include "base/Computation.h"
#include "lower/IndexAnalysis.h"
#include "lower/LoopNest.h"
#include "lower/PointEmitter.h"

#include <string>
#include <vector>

namespace tlm {

/// A value with its type.
struct ScalarValue {
  std::string name;
  DType dtype = DType::F32;
  Interval range = {}; ///< integers: what is known
};

class ScalarEmitter {
public:
  explicit ScalarEmitter(LoopNest &nest) : nest(nest) {}

  /// Everything but Loop, Load and Reduce.
  std::string emit(const ScalarNode &node,
                   const std::vector<ScalarValue> &arguments);

  std::string real(DType dtype, double value);
  std::string integer(DType dtype, int64_t value);
  std::string load(const LoopNest::Array &array, const std::string &at,
                   DType dtype);
  void store(const ScalarValue &value, const LoopNest::Array &array,
             const std::string &at);
  /// What a reduction of no values yields.
  std::string identity(Combine combine, DType dtype);
  /// One step of a reduction that carries one value.
  std::string combine(Combine combine, DType dtype, const std::string &a,
                      const std::string &b);
  /// Whether the candidate takes the place of the extreme value so far.
  std::string isBetter(Combine combine, DType dtype,
                       const std::string &candidate, const std::string &best);
  std::string select(const std::string &condition, const std::string &a,
                     const std::string &b, DType dtype);

  /// Constants, to stand before the loops.
  std::string constants() const { return points.constants(); }
  /// The MLIR type of a value.
  static std::string typeOf(DType dtype);

private:
  std::string operation(const std::string &op,
                        const std::vector<std::string> &arguments,
                        const std::string &type);
  std::string compare(const char *predicate, DType dtype, const std::string &a,
                      const std::string &b);
  std::string cast(const ScalarValue &value, DType to);
  std::string floatOp(const ScalarNode &node,
                      const std::vector<ScalarValue> &arguments);
  std::string integerOp(const ScalarNode &node,
                        const std::vector<ScalarValue> &arguments);
  std::string divide(Scalar op, const ScalarValue &a, const ScalarValue &b);
  std::string shift(Scalar op, const ScalarValue &a, const ScalarValue &b);
  std::string power(const ScalarValue &a, const ScalarValue &b);
  std::string math(Scalar op, const ScalarValue &x);

  LoopNest &nest;
  PointEmitter points{0, "p"};
};

} // namespace tlm

#endif // TLM_LOWER_SCALAREMITTER_H
