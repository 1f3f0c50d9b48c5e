//===- Npy.h - NumPy's .npy and .npz files ----------------------*- C++ -*-===//
//
// Reads versions 1 to 3 of .npy, little-endian, C or Fortran order, and .npz
// archives with stored or deflated members; writes what numpy.load reads.
// Every malformed file is an error with the place; sizes are checked before
// anything is allocated.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TOOLS_NPY_H
#define TLM_TOOLS_NPY_H

#include "HostTensor.h"
#include "base/Result.h"

#include <string>
#include <string_view>
#include <vector>

namespace tlm {

/// `where` names the file in messages.
Result<HostTensor> parseNpy(std::string_view bytes, const std::string &where);

/// Fails for types that NumPy has no name for (bf16).
Result<std::string> npyBytes(const HostTensor &tensor);

/// The archive's arrays in its order, named without ".npy".
Result<std::vector<HostTensor>> parseNpz(std::string_view bytes,
                                         const std::string &where);

/// Stored, not deflated; members have a fixed date, so equal tensors give equal
/// bytes.
Result<std::string> npzBytes(const std::vector<HostTensor> &tensors);

} // namespace tlm

#endif // TLM_TOOLS_NPY_H
