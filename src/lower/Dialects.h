//===- Dialects.h - the MLIR dialects kernels use ---------------*- C++ -*-===//

#ifndef TLM_LOWER_DIALECTS_H
#define TLM_LOWER_DIALECTS_H

namespace mlir {
class DialectRegistry;
}

namespace tlm {

/// Every dialect, interface and transform extension that payloads and scripts
/// may contain, and the translation to LLVM IR.
void registerKernelDialects(mlir::DialectRegistry &registry);

} // namespace tlm

#endif // TLM_LOWER_DIALECTS_H
