//===- TensorCompare.h - are two tensors the same enough? -------*- C++ -*-===//

#ifndef TLM_TOOLS_TENSORCOMPARE_H
#define TLM_TOOLS_TENSORCOMPARE_H

#include "HostTensor.h"

#include <optional>
#include <string>

namespace tlm {

/// |found - expected| <= atol + rtol * |expected|. Without atol it is `scaled`
/// times the largest finite |expected|. Integers compare exactly unless asked
/// otherwise; NaN matches NaN, infinity the same infinity.
struct Tolerance {
  std::optional<double> rtol, atol;

  /// Filled in for `dtype`: f32 rtol 1e-3, atol 1e-4 of the largest value;
  /// f16 1e-2 and 1e-3; bf16 3e-2 and 1e-2; f64 as f32; integers 0.
  double relative(DType dtype) const;
  double absolute(DType dtype, double largest) const;
};

struct Comparison {
  bool ok = false;
  double maxAbs = 0;  ///< of the finite pairs
  double maxRel = 0;  ///< of those, where expected is not 0
  double largest = 0; ///< largest finite |expected|
  int64_t mismatches = 0;
  int64_t firstBad = -1; ///< element index
  /// "max abs err 3.1e-06, max rel 2.0e-05", or what differs.
  std::string text;
};

Comparison compareTensors(const HostTensor &found, const HostTensor &expected,
                          const Tolerance &tolerance);

} // namespace tlm

#endif // TLM_TOOLS_TENSORCOMPARE_H
