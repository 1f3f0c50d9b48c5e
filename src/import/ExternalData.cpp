#include "import/ExternalData.h"

#include <cstring>
#include <filesystem>

using namespace tlm;
namespace fs = std::filesystem;

Result<std::shared_ptr<MappedFile>>
ExternalData::openInside(const std::string &location) {
  fs::path relative(location);
  if (location.empty() || relative.is_absolute())
    return makeError("external data location '" + location +
                     "' is not relative to the model file");
  for (const fs::path &part : relative)
    if (part == "..")
      return makeError("external data location '" + location +
                       "' leaves the folder of the model file");

  std::error_code failed;
  fs::path base = fs::canonical(folder.empty() ? "." : folder, failed);
  if (failed)
    return makeError(folder + ": " + failed.message());
  fs::path target = fs::canonical(base / relative, failed);
  if (failed)
    return makeError("external data file '" + location +
                         "': " + failed.message(),
                     "it belongs beside the model file");
  auto [inBase, unused] =
      std::mismatch(base.begin(), base.end(), target.begin(), target.end());
  if (inBase != base.end())
    return makeError("external data location '" + location +
                     "' is a link that leaves the folder of the model file");
  return MappedFile::open(target.string());
}

Result<Constant> ExternalData::find(const std::string &location, int64_t offset,
                                    size_t sizeBytes, size_t alignment) {
  auto it = files.find(location);
  if (it == files.end()) {
    TLM_TRY(auto file, openInside(location));
    it = files.emplace(location, std::move(file)).first;
  }
  const std::shared_ptr<MappedFile> &file = it->second;
  if (offset < 0 || size_t(offset) > file->sizeBytes() ||
      sizeBytes > file->sizeBytes() - size_t(offset))
    return makeError("external data file '" + location + "' has " +
                     std::to_string(file->sizeBytes()) + " bytes; " +
                     std::to_string(sizeBytes) + " at offset " +
                     std::to_string(offset) + " are asked for");
  static const std::byte empty{};
  if (sizeBytes == 0)
    return Constant{&empty, 0, nullptr};
  const std::byte *data = file->data() + offset;
  if (size_t(offset) % alignment == 0)
    return Constant{data, sizeBytes, file};
  auto copy = std::make_shared<std::vector<std::byte>>(data, data + sizeBytes);
  return Constant{copy->data(), sizeBytes, copy};
}
