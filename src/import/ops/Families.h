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

// Pooling.cpp
Status importAveragePool(NodeImporter &node);
Status importGlobalAveragePool(NodeImporter &node);
Status importGlobalMaxPool(NodeImporter &node);
Status importMaxPool(NodeImporter &node);

// Pointwise.cpp: each is one operator of ours, or a few
Status importBinary(NodeImporter &node);
Status importClip(NodeImporter &node);
Status importGelu(NodeImporter &node);
Status importPRelu(NodeImporter &node);
Status importPow(NodeImporter &node);
Status importReciprocal(NodeImporter &node);
Status importScalarUnary(NodeImporter &node);
Status importSwish(NodeImporter &node);
Status importUnary(NodeImporter &node);
Status importVariadic(NodeImporter &node);

// Matrix.cpp
Status importGemm(NodeImporter &node);
Status importMatMul(NodeImporter &node);

// Normalisation.cpp
Status importBatchNormalization(NodeImporter &node);
Status importInstanceNormalization(NodeImporter &node);
Status importLayerNormalization(NodeImporter &node);
Status importLrn(NodeImporter &node);

// Reduction.cpp
Status importReduceMean(NodeImporter &node);
Status importSoftmax(NodeImporter &node);

// Shaping.cpp: the same elements under other dims
Status importFlatten(NodeImporter &node);
Status importIdentity(NodeImporter &node);
Status importReshape(NodeImporter &node);
Status importSqueeze(NodeImporter &node);
Status importUnsqueeze(NodeImporter &node);

// Movement.cpp: elements to other places
Status importConcat(NodeImporter &node);
Status importExpand(NodeImporter &node);
Status importGather(NodeImporter &node);
Status importPad(NodeImporter &node);
Status importSlice(NodeImporter &node);
Status importSplit(NodeImporter &node);
Status importTranspose(NodeImporter &node);

// Constants.cpp: known at import, or not supported
Status importCast(NodeImporter &node);
Status importComparison(NodeImporter &node);
Status importConstant(NodeImporter &node);
Status importConstantOfShape(NodeImporter &node);
Status importRange(NodeImporter &node);
Status importShape(NodeImporter &node);
Status importSize(NodeImporter &node);
Status importWhere(NodeImporter &node);

} // namespace tlm

#endif // TLM_IMPORT_OPS_FAMILIES_H
