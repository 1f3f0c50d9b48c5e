//===- SelftestModel.h - a small network made in memory ---------*- C++ -*-===//

#ifndef TLM_TOOLS_SELFTESTMODEL_H
#define TLM_TOOLS_SELFTESTMODEL_H

#include <string>

namespace tlm {

/// The bytes of a model.onnx, x f32[1,3,32,32] -> y f32[1,10], with seeded
/// weights: strided, 3x3, depthwise and 1x1 convolutions, batch norm, pooling
/// with borders, squeeze-excite, residual, Gemm and Softmax.
std::string selftestModel();

} // namespace tlm

#endif // TLM_TOOLS_SELFTESTMODEL_H
