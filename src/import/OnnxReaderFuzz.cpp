// libFuzzer: whatever the bytes are, import returns, and what it accepts
// simplifies into a graph that verifies.

#include "graph/Passes.h"
#include "import/Import.h"

using namespace tlm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<ImportedModel> model = importOnnxBytes(data, size, "/nonexistent");
  if (!model)
    return 0;
  int64_t elements = 0;
  for (const Value &value : model->graph.values)
    elements += countOf(value.dims);
  if (elements < 1 << 16)
    simplifyGraph(model->graph);
  return 0;
}
