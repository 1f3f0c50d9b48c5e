//===- ConstantData.h - arithmetic on constants at import -------*- C++ -*-===//
//
// Shape arithmetic runs on integers of any width read as i64 and written back
// in their own type; moving data works on elements of any type.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_IMPORT_CONSTANTDATA_H
#define TLM_IMPORT_CONSTANTDATA_H

#include "graph/Graph.h"

#include <optional>

namespace tlm {

/// Integers of all widths and bool.
bool holdsInts(DType dtype);

/// The elements of a constant for which holdsInts; u64 as its bits.
std::vector<int64_t> readInts(const Value &value);

/// Wraps to the type's width; bool is != 0.
Constant writeInts(DType dtype, const std::vector<int64_t> &numbers);

/// The elements of any numeric constant as f64, for Cast and Where.
std::optional<std::vector<double>> readNumbers(const Value &value);

/// Elements `indices` of a constant, in that order.
Constant pickElements(const Value &value, const std::vector<int64_t> &indices);

/// The one element of `value`, `count` times.
Constant repeatElement(const Value &value, int64_t count);

/// For each element of a tensor `to`, row-major, the element of a tensor `from`
/// that broadcasts to it.
std::vector<int64_t> broadcastIndices(const Dims &from, const Dims &to);

} // namespace tlm

#endif // TLM_IMPORT_CONSTANTDATA_H
