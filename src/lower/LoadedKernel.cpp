#include "lower/LoadedKernel.h"

#include "lower/Text.h"

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace tlm;
namespace orc = llvm::orc;

/// Code in this process, from objects.
class LoadedKernel::Library {
public:
  static Result<std::shared_ptr<Library>>
  link(const std::vector<const Kernel *> &kernels);
  ~Library();
  Result<Entry> find(const std::string &symbol);

private:
  explicit Library(std::unique_ptr<orc::ExecutorProcessControl> control)
      : session(std::move(control)), layer(session) {}
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  orc::JITDylib *symbols = nullptr;
};

static Error located(llvm::Error error) {
  return makeError(
      cat("cannot load a kernel: ", llvm::toString(std::move(error))));
}

Result<std::shared_ptr<LoadedKernel::Library>>
LoadedKernel::Library::link(const std::vector<const Kernel *> &kernels) {
  auto control = orc::SelfExecutorProcessControl::Create();
  if (!control)
    return located(control.takeError());
  std::shared_ptr<Library> library(new Library(std::move(*control)));
  library->symbols = &library->session.createBareJITDylib("kernels");
  // libm and libc are in this process already.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!process)
    return located(process.takeError());
  library->symbols->addGenerator(std::move(*process));
  for (const Kernel *kernel : kernels) {
    auto buffer = llvm::MemoryBuffer::getMemBuffer(
        llvm::StringRef(kernel->object.data(), kernel->object.size()),
        kernel->stages.empty() ? "kernel" : kernel->stages[0].symbol,
        /*RequiresNullTerminator=*/false);
    if (llvm::Error error =
            library->layer.add(*library->symbols, std::move(buffer)))
      return located(std::move(error));
  }
  return library;
}

LoadedKernel::Library::~Library() {
  // Frees the code; nothing runs in it any more.
  if (llvm::Error error = session.endSession())
    session.reportError(std::move(error));
}

Result<LoadedKernel::Entry>
LoadedKernel::Library::find(const std::string &symbol) {
  auto found = session.lookup({symbols}, symbol);
  if (!found)
    return located(found.takeError());
  return found->getAddress().toPtr<Entry>();
}

Result<std::vector<LoadedKernel>>
LoadedKernel::loadAll(const std::vector<const Kernel *> &kernels) {
  TLM_TRY(std::shared_ptr<Library> library, Library::link(kernels));
  std::vector<LoadedKernel> loaded;
  for (const Kernel *kernel : kernels) {
    LoadedKernel each;
    each.library = library;
    for (const KernelStage &stage : kernel->stages) {
      TLM_TRY(Entry entry, library->find(stage.symbol));
      each.stages.push_back({entry, stage.chunks});
    }
    each.scratchFloats = kernel->scratchBytes / 4;
    each.workerFloats = kernel->workerScratchBytes / 4;
    loaded.push_back(std::move(each));
  }
  return loaded;
}

Result<LoadedKernel> LoadedKernel::load(const Kernel &kernel) {
  TLM_TRY(std::vector<LoadedKernel> loaded, loadAll({&kernel}));
  return std::move(loaded.front());
}

LoadedKernel::LoadedKernel(LoadedKernel &&) noexcept = default;
LoadedKernel &LoadedKernel::operator=(LoadedKernel &&) noexcept = default;
LoadedKernel::~LoadedKernel() = default;

std::vector<void *>
LoadedKernel::argumentsFor(const std::vector<float *> &operands) {
  if (scratch.size() != scratchFloats)
    scratch = AlignedFloats(scratchFloats, NAN);
  if (worker.size() != workerFloats)
    worker = AlignedFloats(workerFloats, NAN);
  std::vector<void *> arguments(operands.begin(), operands.end());
  arguments.push_back(scratch.data());
  return arguments;
}

void LoadedKernel::run(const std::vector<float *> &operands) {
  std::vector<void *> arguments = argumentsFor(operands);
  for (const StageEntry &stage : stages)
    stage.entry(arguments.data(), worker.data(), 0, stage.chunks);
}

void LoadedKernel::runBackwards(const std::vector<float *> &operands) {
  std::vector<void *> arguments = argumentsFor(operands);
  for (const StageEntry &stage : stages)
    for (int64_t chunk = stage.chunks; chunk-- > 0;)
      stage.entry(arguments.data(), worker.data(), chunk, chunk + 1);
}
