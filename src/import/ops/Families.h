//===- Families.h - the import functions of Operators.def -------*- C++ -*-===//
//
// One file per family; see NodeImporter.h for what they may rely on.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_IMPORT_OPS_FAMILIES_H
#define TLM_IMPORT_OPS_FAMILIES_H

#include "import/NodeImporter.h"

namespace tlm {

// Convolution.cpp
Status importConv(NodeImporter &node);
Status importConvInteger(NodeImporter &node);
Status importConvTranspose(NodeImporter &node);

// Pooling.cpp
Status importAveragePool(NodeImporter &node);
Status importGlobalAveragePool(NodeImporter &node);
Status importGlobalLpPool(NodeImporter &node);
Status importGlobalMaxPool(NodeImporter &node);
Status importLpPool(NodeImporter &node);
Status importMaxPool(NodeImporter &node);
Status importMaxUnpool(NodeImporter &node);

// Pointwise.cpp: operators of ours for f32
Status importBinary(NodeImporter &node);
Status importClip(NodeImporter &node);
Status importGelu(NodeImporter &node);
Status importPRelu(NodeImporter &node);
Status importPow(NodeImporter &node);
Status importReciprocal(NodeImporter &node);
Status importScalarUnary(NodeImporter &node);
Status importSelu(NodeImporter &node);
Status importSwish(NodeImporter &node);
Status importUnary(NodeImporter &node);
Status importVariadic(NodeImporter &node);
Status importWhere(NodeImporter &node);

// Math.cpp: expressions, of any type
Status importBinaryMath(NodeImporter &node);
Status importMath(NodeImporter &node);

// Casting.cpp
Status importCast(NodeImporter &node);
Status importDequantizeLinear(NodeImporter &node);
Status importDynamicQuantizeLinear(NodeImporter &node);
Status importQuantizeLinear(NodeImporter &node);

// Matrix.cpp
Status importGemm(NodeImporter &node);
Status importMatMul(NodeImporter &node);
Status importMatMulInteger(NodeImporter &node);
Status importQLinearMatMul(NodeImporter &node);

// Einsum.cpp
Status importEinsum(NodeImporter &node);

// Normalisation.cpp
Status importBatchNormalization(NodeImporter &node);
Status importGroupNormalization(NodeImporter &node);
Status importInstanceNormalization(NodeImporter &node);
Status importLayerNormalization(NodeImporter &node);
Status importLpNormalization(NodeImporter &node);
Status importLrn(NodeImporter &node);
Status importMeanVarianceNormalization(NodeImporter &node);
Status importRmsNormalization(NodeImporter &node);

// Reduction.cpp
Status importArgExtreme(NodeImporter &node);
Status importCumulative(NodeImporter &node);
Status importReduce(NodeImporter &node);
Status importSoftmax(NodeImporter &node);
Status importTopK(NodeImporter &node);

// Resize.cpp
Status importResize(NodeImporter &node);

// Shaping.cpp: the same elements under other dims
Status importDropout(NodeImporter &node);
Status importFlatten(NodeImporter &node);
Status importIdentity(NodeImporter &node);
Status importReshape(NodeImporter &node);
Status importSqueeze(NodeImporter &node);
Status importUnsqueeze(NodeImporter &node);

// Movement.cpp: elements to other places
Status importCenterCropPad(NodeImporter &node);
Status importConcat(NodeImporter &node);
Status importDepthToSpace(NodeImporter &node);
Status importExpand(NodeImporter &node);
Status importPad(NodeImporter &node);
Status importReverseSequence(NodeImporter &node);
Status importSlice(NodeImporter &node);
Status importSpaceToDepth(NodeImporter &node);
Status importSplit(NodeImporter &node);
Status importTile(NodeImporter &node);
Status importTranspose(NodeImporter &node);
Status importTrilu(NodeImporter &node);

// Gathering.cpp: to and from computed places
Status importCompress(NodeImporter &node);
Status importGather(NodeImporter &node);
Status importGatherElements(NodeImporter &node);
Status importGatherND(NodeImporter &node);
Status importNonZero(NodeImporter &node);
Status importOneHot(NodeImporter &node);
Status importScatterElements(NodeImporter &node);
Status importScatterND(NodeImporter &node);

// Constants.cpp: known at import
Status importConstant(NodeImporter &node);
Status importConstantOfShape(NodeImporter &node);
Status importEyeLike(NodeImporter &node);
Status importRange(NodeImporter &node);
Status importShape(NodeImporter &node);
Status importSize(NodeImporter &node);
Status importWindow(NodeImporter &node);

// Losses.cpp
Status importNegativeLogLikelihoodLoss(NodeImporter &node);
Status importSoftmaxCrossEntropyLoss(NodeImporter &node);

// ControlFlow.cpp: unrolled
Status importIf(NodeImporter &node);
Status importLoop(NodeImporter &node);
Status importScan(NodeImporter &node);

// Recurrent.cpp: unrolled
Status importRecurrent(NodeImporter &node);

// Attention.cpp
Status importAttention(NodeImporter &node);
Status importRotaryEmbedding(NodeImporter &node);

// Sampling.cpp
Status importAffineGrid(NodeImporter &node);
Status importCol2Im(NodeImporter &node);
Status importDft(NodeImporter &node);
Status importGridSample(NodeImporter &node);

} // namespace tlm

#endif // TLM_IMPORT_OPS_FAMILIES_H
