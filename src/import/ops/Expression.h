//===- Expression.h - a Computation written as arithmetic -------*- C++ -*-===//
//
// What most import functions are made of: the value of one output element as
// C++ arithmetic on Terms. Gather along axis 0 is
//
//   Expression e(node, {count, width});
//   Term index = e.load(indices, {e.loop(0)});
//   index = select(index < 0, index + rows, index);
//   return e.emit(e.load(data, {index, e.loop(1)}));
//
// A number beside a Term takes its dtype. Constants of one element become
// immediates.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_IMPORT_OPS_EXPRESSION_H
#define TLM_IMPORT_OPS_EXPRESSION_H

#include "import/NodeImporter.h"

#include <functional>

namespace tlm {

class Expression;

struct Term {
  Expression *in = nullptr;
  ComputationBuilder::Node id = -1;

  DType dtype() const;
  Term cast(DType dtype) const;
};

class Expression {
public:
  Expression(NodeImporter &node, Dims loops, Dims reductions = {})
      : node(node), loops(loops), builder(loops, reductions) {}
  Expression(const Expression &) = delete;

  Term loop(size_t i) { return {this, builder.loop(i)}; }
  Term reduction(size_t i) { return {this, builder.reduction(i)}; }
  Term integer(int64_t value, DType dtype = DType::I64) {
    return {this, builder.integer(value, dtype)};
  }
  Term number(double value, DType dtype) {
    return {this, builder.number(value, dtype)};
  }

  Term load(ValueId operand, const std::vector<Term> &indices);
  /// The element that broadcasts to the loops.
  Term broadcast(ValueId operand);
  /// The element at the loops, of an operand of their rank.
  Term element(ValueId operand);
  std::vector<Term> allLoops();

  Term op(Scalar op, const std::vector<Term> &arguments);
  Term reduce(Term value, Combine combine) {
    return {this, builder.reduce(value.id, combine)};
  }

  /// The graph's node for it.
  Result<ValueId> emit(Term result);

private:
  friend struct Term;
  NodeImporter &node;
  Dims loops;
  ComputationBuilder builder;
  std::vector<ValueId> operands;
};

/// A function of one term, by its operation.
Term apply(Scalar op, Term x);
Term apply(Scalar op, Term a, Term b);
inline Term apply(Scalar op, Term a, double b) {
  return apply(op, a, a.in->number(b, a.dtype()));
}
inline Term apply(Scalar op, double a, Term b) {
  return apply(op, b.in->number(a, b.dtype()), b);
}

#define TLM_TERM_OPERATOR(symbol, scalar)                                      \
  inline Term operator symbol(Term a, Term b) {                                \
    return apply(Scalar::scalar, a, b);                                        \
  }                                                                            \
  inline Term operator symbol(Term a, double b) {                              \
    return apply(Scalar::scalar, a, b);                                        \
  }                                                                            \
  inline Term operator symbol(double a, Term b) {                              \
    return apply(Scalar::scalar, a, b);                                        \
  }
TLM_TERM_OPERATOR(+, Add)
TLM_TERM_OPERATOR(-, Sub)
TLM_TERM_OPERATOR(*, Mul)
TLM_TERM_OPERATOR(/, Div)
TLM_TERM_OPERATOR(%, Remainder)
TLM_TERM_OPERATOR(<, Less)
TLM_TERM_OPERATOR(<=, LessEqual)
TLM_TERM_OPERATOR(&, And)
TLM_TERM_OPERATOR(|, Or)
TLM_TERM_OPERATOR(^, Xor)
#undef TLM_TERM_OPERATOR
inline Term operator!(Term a) { return apply(Scalar::Not, a); }
inline Term operator-(Term a) { return apply(Scalar::Neg, a); }

template <typename T>
Term equal(Term a, T b) {
  return apply(Scalar::Equal, a, b);
}
template <typename T>
Term least(Term a, T b) {
  return apply(Scalar::Min, a, b);
}
template <typename T>
Term most(Term a, T b) {
  return apply(Scalar::Max, a, b);
}
Term select(Term condition, Term a, Term b);
inline Term select(Term condition, Term a, double b) {
  return select(condition, a, a.in->number(b, a.dtype()));
}
inline Term select(Term condition, double a, Term b) {
  return select(condition, b.in->number(a, b.dtype()), b);
}
inline Term exp(Term x) { return apply(Scalar::Exp, x); }
inline Term log(Term x) { return apply(Scalar::Log, x); }
inline Term sqrt(Term x) { return apply(Scalar::Sqrt, x); }
inline Term tanh(Term x) { return apply(Scalar::Tanh, x); }
inline Term floor(Term x) { return apply(Scalar::Floor, x); }
inline Term round(Term x) { return apply(Scalar::Round, x); }
inline Term abs(Term x) { return apply(Scalar::Abs, x); }
inline Term isNan(Term x) { return apply(Scalar::IsNan, x); }
/// 1 / (1 + exp(-x))
inline Term sigmoid(Term x) { return 1.0 / (exp(-x) + 1.0); }
/// An index that counts from the end when it is negative.
inline Term wrapIndex(Term index, int64_t extent) {
  return select(index < 0, index + double(extent), index);
}
/// 0 <= x < extent
inline Term inside(Term x, int64_t extent) {
  return (0 <= x) & (x < double(extent));
}

/// a op b with broadcasting: our operator on f32, a computation on anything
/// else. Operands must have one dtype.
Result<ValueId> emitBinary(NodeImporter &node, Op op, ValueId a, ValueId b);

using TermPair = std::function<Term(Term a, Term b)>;

/// numpy's matmul, vectors included. Sums product(a, b), by default a * b, over
/// the inner dim; the operands of the default have one type.
Result<ValueId> emitMatMul(NodeImporter &node, ValueId a, ValueId b,
                           const TermPair &product = nullptr);

/// The same value in another dtype.
Result<ValueId> emitCast(NodeImporter &node, ValueId x, DType dtype);

/// A constant scalar.
ValueId emitScalar(NodeImporter &node, double number, DType dtype = DType::F32);

} // namespace tlm

#endif // TLM_IMPORT_OPS_EXPRESSION_H
