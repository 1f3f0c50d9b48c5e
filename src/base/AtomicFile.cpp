//===- AtomicFile.cpp - a file is written whole or not at all -------------===//

#include "base/AtomicFile.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tlm {
namespace {

Error fileError(const char *action, const std::string &path) {
  return makeError(std::string("cannot ") + action + " '" + path +
                   "': " + std::strerror(errno));
}

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes.remove_prefix(size_t(written));
  }
  return true;
}

} // namespace

Status writeFileAtomically(const std::string &path, std::string_view bytes) {
  std::string temporary = path + ".XXXXXX";
  int file = ::mkstemp(temporary.data());
  if (file < 0)
    return fileError("write", path);
  mode_t mask = ::umask(0);
  ::umask(mask);
  bool ok = writeAll(file, bytes) && ::fchmod(file, 0666 & ~mask) == 0;
  ok = ::close(file) == 0 && ok;
  ok = ok && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (ok)
    return success();
  Error error = fileError("write", path);
  ::unlink(temporary.c_str());
  return error;
}

Result<std::string> readWholeFile(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return fileError("read", path);
  std::string bytes;
  struct stat facts;
  if (::fstat(file, &facts) == 0 && S_ISDIR(facts.st_mode)) {
    ::close(file);
    return makeError("cannot read '" + path + "': it is a folder");
  }
  char chunk[1 << 16];
  ssize_t count;
  while ((count = ::read(file, chunk, sizeof(chunk))) != 0) {
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      Error error = fileError("read", path);
      ::close(file);
      return error;
    }
    bytes.append(chunk, size_t(count));
  }
  ::close(file);
  return bytes;
}

} // namespace tlm
