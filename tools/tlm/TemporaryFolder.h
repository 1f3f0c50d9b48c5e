//===- TemporaryFolder.h - a folder of its own, for a while -----*- C++ -*-===//

#ifndef TLM_TOOLS_TEMPORARYFOLDER_H
#define TLM_TOOLS_TEMPORARYFOLDER_H

#include <filesystem>
#include <stdlib.h>

namespace tlm {

/// Made by the constructor, gone with the object. The path is empty when it
/// could not be made.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code failure;
    std::filesystem::path parent =
        std::filesystem::temp_directory_path(failure);
    std::string form = (parent / "tlm-XXXXXX").string();
    if (const char *made = failure ? nullptr : ::mkdtemp(form.data()))
      folder = made;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!folder.empty())
      std::filesystem::remove_all(folder, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::filesystem::path &path() const { return folder; }

private:
  std::filesystem::path folder;
};

} // namespace tlm

#endif // TLM_TOOLS_TEMPORARYFOLDER_H
