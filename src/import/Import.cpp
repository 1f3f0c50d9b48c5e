#include "import/Import.h"

#include "import/GraphImporter.h"

using namespace tlm;

namespace {

Result<ImportedModel> importModel(const OnnxModel &model,
                                  const ImportOptions &options) {
  return GraphImporter(model, options).run();
}

} // namespace

Result<ImportedModel> tlm::importOnnx(const std::string &path,
                                      const ImportOptions &options) {
  TLM_TRY(OnnxModel model, readOnnx(path));
  Result<ImportedModel> imported = importModel(model, options);
  if (!imported) {
    Error error = imported.error();
    error.message = path + ": " + error.message;
    return error;
  }
  return imported;
}

Result<ImportedModel> tlm::importOnnxBytes(const void *data, size_t sizeBytes,
                                           const std::string &folder,
                                           const ImportOptions &options) {
  TLM_TRY(OnnxModel model, readOnnxBytes(data, sizeBytes, folder));
  return importModel(model, options);
}
