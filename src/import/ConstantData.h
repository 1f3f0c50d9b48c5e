//===- ConstantData.h - arithmetic on constants at import -------*- C++ -*-===//
//
// Integers of any width are read as i64 and written back in their own type.
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

/// The elements of any numeric constant as f64.
std::optional<std::vector<double>> readNumbers(const Value &value);

} // namespace tlm

#endif // TLM_IMPORT_CONSTANTDATA_H
