// tlm-opt: mlir-opt with the dialects of kernels and TLM's own passes.

#include "lower/Dialects.h"
#include "lower/PrefetchPanels.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tlm::registerKernelDialects(registry);
  mlir::registerTransformsPasses();
  tlm::registerPrefetchPanelsPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "TLM's passes\n", registry));
}
