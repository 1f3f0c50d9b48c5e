//===- Winograd.h - filter transforms of F(2x2,3x3), F(4x4,3x3) -*- C++ -*-===//

#ifndef TLM_SPACE_WINOGRAD_H
#define TLM_SPACE_WINOGRAD_H

#include <cstdint>

namespace tlm {

/// U = G w G^T of `count` 3x3 filters for tiles of `outputs` x `outputs`, 2 or
/// 4: (outputs + 2)^2 values each, computed in double and rounded once. G is
/// that of Lavin and Gray 2015 (arXiv:1509.09308):
///    1   0   0       1/4     0     0
///  1/2 1/2 1/2      -1/6  -1/6  -1/6
///  1/2-1/2 1/2      -1/6   1/6  -1/6
///    0   0   1      1/24  1/12   1/6
///                   1/24 -1/12   1/6
///                      0     0     1
void transformWinogradFilters(const float *filters, int64_t count,
                              int64_t outputs, float *transformed);

} // namespace tlm

#endif // TLM_SPACE_WINOGRAD_H
