//===- Linker.cpp ---------------------------------------------------------===//

#include "driver/Linker.h"

#include "base/AtomicFile.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace tlm {

namespace {

/// A directory of our own, removed at the end.
class ScratchDirectory {
public:
  static Result<std::unique_ptr<ScratchDirectory>> create() {
    std::error_code error;
    std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string pattern =
        (error ? "/tmp" : parent.string()) + "/tlm-linkXXXXXX";
    if (!mkdtemp(pattern.data()))
      return makeError(pattern + ": cannot create a temporary directory: " +
                           std::strerror(errno),
                       "set TMPDIR to a writable directory");
    return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(pattern));
  }
  ~ScratchDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  explicit ScratchDirectory(std::string path) : path(std::move(path)) {}
  std::string path;
};

/// The file that `program` means to a shell, or "".
std::string findProgram(const std::string &program) {
  if (program.find('/') != std::string::npos)
    return access(program.c_str(), X_OK) == 0 ? program : "";
  const char *variable = std::getenv("PATH");
  std::string directories = variable ? variable : "/usr/bin:/bin";
  for (size_t at = 0; at <= directories.size();) {
    size_t end = std::min(directories.find(':', at), directories.size());
    std::string path = directories.substr(at, end - at) + "/" + program;
    if (access(path.c_str(), X_OK) == 0)
      return path;
    at = end + 1;
  }
  return "";
}

Result<std::string> findLinker() {
  if (const char *chosen = std::getenv("TLM_LINKER"); chosen && *chosen) {
    std::string path = findProgram(chosen);
    if (path.empty())
      return makeError("TLM_LINKER: no program " + std::string(chosen));
    return path;
  }
  for (const char *name : {"ld.lld-22", "ld.lld", "ld"})
    if (std::string path = findProgram(name); !path.empty())
      return path;
  return makeError("no linker found: looked for ld.lld-22, ld.lld and ld",
                   "install lld-22 or binutils, or set TLM_LINKER");
}

/// The file of a library as this process would load it.
Result<std::string> findLibrary(const char *soname) {
  void *handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
  link_map *map = nullptr;
  std::string path;
  if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
    path = map->l_name;
  if (handle)
    dlclose(handle);
  if (path.empty())
    return makeError(std::string(soname) + ": not found on this machine");
  return path;
}

Status run(const std::vector<std::string> &command,
           const std::string &messages) {
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int error = posix_spawn(&child, arguments[0], &actions, nullptr,
                          arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return makeError(command[0] + ": cannot start: " + std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return makeError(command[0] + ": lost: " + std::strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return success();
  auto text = readWholeFile(messages);
  std::string detail = text.ok() ? text->substr(0, 2000) : "";
  while (!detail.empty() && detail.back() == '\n')
    detail.pop_back();
  return makeError(command[0] + " failed" +
                   (detail.empty() ? std::string() : ": " + detail));
}

} // namespace

Result<std::vector<char>> linkSharedObject(const LinkInput &input) {
  TLM_TRY(std::string linker, findLinker());
  TLM_TRY(std::string libc, findLibrary("libc.so.6"));
  TLM_TRY(std::string libm, findLibrary("libm.so.6"));
  TLM_TRY(auto directory, ScratchDirectory::create());

  std::string exports = "{ global:";
  for (const std::string &symbol : input.exported)
    exports += " " + symbol + ";";
  std::string script = directory->file("exports");
  TLM_TRY_STATUS(writeFileAtomically(script, exports + " local: *; };\n"));

  std::string output = directory->file("linked.so");
  std::vector<std::string> command = {linker,
                                      "-shared",
                                      "--gc-sections",
                                      "-Bsymbolic",
                                      "--build-id=none",
                                      "--hash-style=gnu",
                                      "--strip-debug",
                                      "--as-needed",
                                      "-z",
                                      "defs",
                                      "-z",
                                      "relro",
                                      "-z",
                                      "now",
                                      "-z",
                                      "noexecstack",
                                      "-z",
                                      "max-page-size=4096",
                                      "--version-script=" + script,
                                      "-soname=" + input.soname,
                                      "-o",
                                      output};
  for (size_t i = 0; i < input.objects.size(); ++i) {
    std::string path = directory->file(std::to_string(i) + ".o");
    TLM_TRY_STATUS(writeFileAtomically(path, input.objects[i]));
    command.push_back(path);
  }
  command.push_back(libc);
  command.push_back(libm);
  TLM_TRY_STATUS(run(command, directory->file("messages")));
  TLM_TRY(std::string linked, readWholeFile(output));
  return std::vector<char>(linked.begin(), linked.end());
}

} // namespace tlm
