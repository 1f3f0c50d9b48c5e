// libFuzzer: whatever the bytes are, the readers return, and the tensors of an
// accepted file lie in it.

#include "model/Adapter.h"
#include "model/SafeTensors.h"

using namespace tlm;

/// The shape of the seeds (test/fuzz/hostile_files.py).
static ModelConfig tinyShape() {
  ModelConfig shape;
  shape.layers = shape.heads = shape.positions = 1;
  shape.width = 16;
  shape.vocabulary = 7;
  return shape;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span bytes(reinterpret_cast<const std::byte *>(data), size);
  Result<SafeTensors> file = SafeTensors::parse(bytes, nullptr, "fuzz");
  if (file) {
    size_t total = 0;
    for (const NamedTensor &tensor : file->tensors()) {
      total += tensor.bytes.size();
      std::span<const std::byte> piece = tensor.bytes;
      hashOfData({&piece, 1});
    }
    TLM_CHECK(total == file->data().size()) << total;
  }
  static const ModelConfig tiny = tinyShape();
  static const GptParameters weights = randomParameters(tiny, 1);
  if (file)
    (void)adapterOf(*file, "fuzz", tiny, weights);
  (void)parseModelFolder(modelConfigText(tiny), bytes, "fuzz");
  std::string text(reinterpret_cast<const char *>(data), size);
  Result<ModelConfig> config = parseModelConfig(text, "fuzz");
  if (config) {
    Result<ModelConfig> again =
        parseModelConfig(modelConfigText(*config), "again");
    TLM_CHECK(again.ok() && *again == *config) << text;
  }
  return 0;
}
