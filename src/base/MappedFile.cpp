#include "base/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tlm;

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string &path) {
  auto failed = [&](const char *what) {
    return makeError(path + ": " + what + ": " + std::strerror(errno));
  };
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return failed("cannot open the file");
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    Error error = failed("cannot stat the file");
    ::close(fd);
    return error;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return makeError(path + ": not a regular file");
  }
  size_t size = size_t(info.st_size);
  void *bytes = nullptr;
  if (size != 0)
    bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED) {
    Error error = failed("cannot map the file");
    ::close(fd);
    return error;
  }
  ::close(fd);
  return std::shared_ptr<MappedFile>(
      new MappedFile(static_cast<const std::byte *>(bytes), size));
}

MappedFile::~MappedFile() {
  if (bytes)
    ::munmap(const_cast<std::byte *>(bytes), size);
}
