//===- StagedFile.cpp -----------------------------------------------------===//

#include "driver/StagedFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tlm {

Error StagedFile::failure(const char *what) const {
  return makeError(path + ": cannot " + what + ": " + std::strerror(errno));
}

Result<std::unique_ptr<StagedFile>>
StagedFile::create(const std::string &path) {
  std::unique_ptr<StagedFile> file(new StagedFile);
  file->path = path;
  std::string pattern = path + ".tmpXXXXXX";
  file->descriptor = mkostemp(pattern.data(), O_CLOEXEC);
  if (file->descriptor < 0)
    return file->failure("create");
  file->temporary = pattern;
  return file;
}

StagedFile::~StagedFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Status StagedFile::write(uint64_t offset, const void *data, size_t size) {
  auto *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = pwrite(descriptor, bytes, size, off_t(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failure("write");
    bytes += written;
    offset += uint64_t(written);
    size -= size_t(written);
  }
  return success();
}

Status StagedFile::read(uint64_t offset, void *data, size_t size) const {
  auto *bytes = static_cast<char *>(data);
  while (size > 0) {
    ssize_t count = pread(descriptor, bytes, size, off_t(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return failure("read back");
    bytes += count;
    offset += uint64_t(count);
    size -= size_t(count);
  }
  return success();
}

Status StagedFile::commit(bool isExecutable) {
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(descriptor, (isExecutable ? 0777 : 0666) & ~mask))
    return failure("set the mode of");
  int closed = close(descriptor);
  descriptor = -1;
  if (closed)
    return failure("write");
  if (std::rename(temporary.c_str(), path.c_str()))
    return failure("rename to");
  temporary.clear();
  return success();
}

} // namespace tlm
