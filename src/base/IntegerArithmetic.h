//===- IntegerArithmetic.h - integers of every width ------------*- C++ -*-===//
//
// What ScalarOps.def says about integers and bool, once: the builder folds with
// it and the interpreter runs it. A number of any integer dtype is held in an
// i64: sign- or zero-extended, u64 as its bits; bool is 0 or 1.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_BASE_INTEGERARITHMETIC_H
#define TLM_BASE_INTEGERARITHMETIC_H

#include "base/Computation.h"

namespace tlm {

/// Keeps the bits the dtype has; bool is != 0.
int64_t wrapInteger(DType dtype, int64_t value);

/// A float as an integer or bool of `dtype`.
int64_t integerFromReal(DType dtype, double value);

/// The number an i64 of `dtype` stands for.
double realFromInteger(DType dtype, int64_t value);

/// The least and the largest value of an integer dtype or bool.
int64_t lowestInteger(DType dtype);
int64_t highestInteger(DType dtype);

/// op on operands of `dtype`; one-operand operations ignore b. Comparisons
/// yield 0 or 1. Everything from Add to Abs of ScalarOps.def but IsNan.
int64_t integerOp(Scalar op, DType dtype, int64_t a, int64_t b);

} // namespace tlm

#endif // TLM_BASE_INTEGERARITHMETIC_H
