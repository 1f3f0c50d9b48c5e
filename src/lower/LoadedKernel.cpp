#include "lower/LoadedKernel.h"

#include "lower/Text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace tlm;

AlignedFloats::AlignedFloats(int64_t count, float fill) : count(count) {
  size_t bytes = (size_t(std::max<int64_t>(count, 1)) * 4 + 4095) / 4096 * 4096;
  memory.reset(static_cast<float *>(std::aligned_alloc(4096, bytes)));
  std::fill_n(memory.get(), bytes / 4, fill);
}

void AlignedFloats::Free::operator()(float *p) const { std::free(p); }

Result<LoadedKernel> LoadedKernel::load(const Kernel &kernel) {
  std::string stem = (std::filesystem::temp_directory_path() /
                      cat("tlm-kernel-", getpid(), "-XXXXXX"))
                         .string();
  int descriptor = mkstemp(stem.data());
  if (descriptor < 0)
    return makeError(cat("cannot create a temporary file like ", stem));
  close(descriptor);
  std::string object = stem + ".o", library = stem + ".so";
  std::ofstream(object, std::ios::binary)
      .write(kernel.object.data(), std::streamsize(kernel.object.size()));
  // libm and libc are in this process already.
  int status = std::system(
      cat("ld.lld-22 -shared ", object, " -o ", library, " 2>&1").c_str());
  LoadedKernel loaded;
  if (status == 0)
    loaded.library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const std::string &path : {stem, object, library})
    std::filesystem::remove(path);
  if (!loaded.library)
    return makeError(cat("cannot link or load a kernel: ",
                         status ? "ld.lld-22 failed" : dlerror()));
  for (const KernelStage &stage : kernel.stages) {
    auto entry =
        reinterpret_cast<Entry>(dlsym(loaded.library, stage.symbol.c_str()));
    if (!entry)
      return makeError(cat("no symbol ", stage.symbol));
    loaded.stages.push_back({entry, stage.chunks});
  }
  loaded.scratch = AlignedFloats(kernel.scratchBytes / 4);
  loaded.worker = AlignedFloats(kernel.workerScratchBytes / 4);
  return loaded;
}

LoadedKernel::LoadedKernel(LoadedKernel &&other) noexcept
    : library(std::exchange(other.library, nullptr)),
      stages(std::move(other.stages)), scratch(std::move(other.scratch)),
      worker(std::move(other.worker)) {}

LoadedKernel::~LoadedKernel() {
  if (library)
    dlclose(library);
}

void LoadedKernel::run(const std::vector<float *> &operands) {
  std::vector<void *> arguments(operands.begin(), operands.end());
  arguments.push_back(scratch.data());
  for (const StageEntry &stage : stages)
    stage.entry(arguments.data(), worker.data(), 0, stage.chunks);
}
