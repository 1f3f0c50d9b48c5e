#include "lower/Pipeline.h"

#include "lower/Dialects.h"
#include "lower/PrefetchPanels.h"
#include "lower/Text.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace tlm;

struct Pipeline::Impl {
  Target target;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string diagnostics;

  explicit Impl(const Target &target);
  mlir::LogicalResult applyScript(mlir::ModuleOp module);
  mlir::LogicalResult lowerToLlvm(mlir::ModuleOp module);
  Error reject(RejectReason reason) const {
    return makeError(cat(nameOf(reason), ": ", diagnostics));
  }
  void addEntries(llvm::Module &module, const Task &task,
                  const Payload &payload, const std::string &prefix,
                  Kernel &kernel);
  void optimize(llvm::Module &module, bool vectorize);
};

std::string_view tlm::nameOf(RejectReason reason) {
  switch (reason) {
  case RejectReason::UnsupportedTask:
    return "unsupported_task";
  case RejectReason::TransformFailed:
    return "transform_failed";
  case RejectReason::LeftoverAllocation:
    return "leftover_allocation";
  case RejectReason::CodegenFailed:
    return "codegen_failed";
  }
  return "?";
}

Pipeline::Impl::Impl(const Target &target) : target(target) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->getDiagEngine().registerHandler([this](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      diagnostics += d.str() + "; ";
  });

  llvm::Triple triple(target.triple);
  std::string problem;
  const llvm::Target *llvmTarget =
      llvm::TargetRegistry::lookupTarget(triple, problem);
  TLM_CHECK(llvmTarget) << problem;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  machine.reset(llvmTarget->createTargetMachine(
      triple, target.cpu, target.featureString(), options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Less));
}

mlir::LogicalResult Pipeline::Impl::applyScript(mlir::ModuleOp module) {
  mlir::transform::NamedSequenceOp entry;
  for (auto sequence : module.getOps<mlir::transform::NamedSequenceOp>())
    entry = sequence;
  mlir::transform::TransformOptions options;
  if (failed(mlir::transform::applyTransformNamedSequence(
          module, entry, module, options.enableExpensiveChecks(false))))
    return mlir::failure();
  entry.erase();
  module->removeAttr("transform.with_named_sequence");
  return mlir::success();
}

mlir::LogicalResult Pipeline::Impl::lowerToLlvm(mlir::ModuleOp module) {
  // erf within 4 ULP, tanh 5, in vector code; libm would be called per lane.
  mlir::RewritePatternSet math(context.get());
  mlir::populateMathPolynomialApproximationPatterns(math);
  if (failed(mlir::applyPatternsGreedily(module, std::move(math))))
    return mlir::failure();
  mlir::PassManager manager(context.get(), "builtin.module",
                            mlir::OpPassManager::Nesting::Implicit);
  // Row loops of an epilogue leave one small buffer: it becomes an alloca.
  manager.addPass(mlir::bufferization::createBufferLoopHoistingPass());
  mlir::bufferization::PromoteBuffersToStackPassOptions stack;
  stack.maxAllocSizeInBytes = 16384;
  manager.addPass(mlir::bufferization::createPromoteBuffersToStackPass(stack));
  manager.addPass(mlir::createLowerAffinePass());
  manager.addPass(mlir::createConvertVectorToSCFPass());
  manager.addPass(mlir::memref::createExpandStridedMetadataPass());
  manager.addPass(mlir::createLowerAffinePass());
  manager.addPass(mlir::createSCFToControlFlowPass());
  manager.addPass(mlir::createConvertVectorToLLVMPass());
  manager.addPass(mlir::createConvertMathToLLVMPass());
  manager.addPass(mlir::createConvertMathToLibmPass());
  manager.addPass(mlir::createArithToLLVMConversionPass());
  manager.addPass(mlir::createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(mlir::createConvertIndexToLLVMPass());
  mlir::ConvertFuncToLLVMPassOptions bare;
  bare.useBarePtrCallConv = true;
  manager.addPass(mlir::createConvertFuncToLLVMPass(bare));
  manager.addPass(mlir::createConvertControlFlowToLLVMPass());
  manager.addPass(mlir::createUBToLLVMConversionPass());
  manager.addPass(mlir::createReconcileUnrealizedCastsPass());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  return manager.run(module);
}

// void entry(void *const *args, void *worker, int64_t begin, int64_t end):
// loads the arguments once and calls the stage's function for each chunk.
void Pipeline::Impl::addEntries(llvm::Module &module, const Task &task,
                                const Payload &payload,
                                const std::string &prefix, Kernel &kernel) {
  llvm::LLVMContext &llvmContext = module.getContext();
  auto *pointer = llvm::PointerType::getUnqual(llvmContext);
  auto *i64 = llvm::Type::getInt64Ty(llvmContext);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(llvmContext),
                                       {pointer, pointer, i64, i64}, false);
  size_t shared = task.operands.size() + 1;
  for (const Stage &stage : payload.stages) {
    llvm::Function *body = module.getFunction(stage.name);
    body->setLinkage(llvm::GlobalValue::InternalLinkage);
    std::string symbol = prefix + "_" + stage.name;
    auto *entry = llvm::Function::Create(
        type, llvm::GlobalValue::ExternalLinkage, symbol, module);
    auto *start = llvm::BasicBlock::Create(llvmContext, "start", entry);
    auto *loop = llvm::BasicBlock::Create(llvmContext, "loop", entry);
    auto *done = llvm::BasicBlock::Create(llvmContext, "done", entry);
    llvm::IRBuilder<> builder(start);
    std::vector<llvm::Value *> arguments;
    for (size_t i = 0; i < shared; ++i)
      arguments.push_back(builder.CreateLoad(
          pointer, builder.CreateConstGEP1_64(pointer, entry->getArg(0), i)));
    arguments.push_back(entry->getArg(1));
    builder.CreateCondBr(
        builder.CreateICmpSLT(entry->getArg(2), entry->getArg(3)), loop, done);
    builder.SetInsertPoint(loop);
    auto *chunk = builder.CreatePHI(i64, 2);
    chunk->addIncoming(entry->getArg(2), start);
    arguments.push_back(chunk);
    builder.CreateCall(body, arguments);
    auto *next = builder.CreateAdd(chunk, builder.getInt64(1));
    chunk->addIncoming(next, loop);
    builder.CreateCondBr(builder.CreateICmpSLT(next, entry->getArg(3)), loop,
                         done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    kernel.stages.push_back(
        {symbol, stage.chunks, stage.rowBlocks, stage.channelBlocks});
  }
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) {
      function.addFnAttr("prefer-vector-width", cat(target.vectorBits));
      function.addFnAttr("target-cpu", target.cpu);
      function.addFnAttr("target-features", target.featureString());
    }
}

void Pipeline::Impl::optimize(llvm::Module &module, bool vectorize) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = vectorize;
  tuning.SLPVectorization = vectorize;
  llvm::PassBuilder builder(machine.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder
      .buildPerModuleDefaultPipeline(vectorize ? llvm::OptimizationLevel::O3
                                               : llvm::OptimizationLevel::O1)
      .run(module, modules);
}

Result<Kernel> Pipeline::compile(const Task &task, const Payload &payload,
                                 const std::string &symbolPrefix,
                                 const LowerOptions &options) {
  impl->diagnostics.clear();
  Kernel kernel;
  kernel.packings = payload.packings;
  kernel.scratchBytes = payload.scratchFloats * 4;
  kernel.workerScratchBytes = payload.workerFloats * 4;
  kernel.maxParallelism = payload.maxParallelism;

  std::string moduleText = payload.moduleText(task);
  if (options.keepTexts) {
    kernel.payloadText = payload.payloadText(task);
    kernel.scheduleText = moduleText;
  }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      moduleText,
      mlir::ParserConfig(impl->context.get(), /*verifyAfterParse=*/true));
  if (!module)
    return impl->reject(RejectReason::TransformFailed);
  if (failed(impl->applyScript(*module)))
    return impl->reject(RejectReason::TransformFailed);

  // A copy or allocation in a kernel means that bufferization did not find the
  // form the template was written for.
  bool leftover = false;
  module->walk([&](mlir::Operation *op) {
    if (mlir::isa<mlir::memref::CopyOp>(op)) {
      leftover = true;
      impl->diagnostics += "memref.copy left; ";
    }
    if (auto alloc = mlir::dyn_cast<mlir::memref::AllocOp>(op))
      if (!alloc.getType().hasStaticShape() ||
          alloc.getType().getNumElements() > 4096) {
        leftover = true;
        impl->diagnostics += "memref.alloc left; ";
      }
  });
  if (leftover)
    return impl->reject(RejectReason::LeftoverAllocation);
  prefetchPanels(*module);
  if (failed(impl->lowerToLlvm(*module)))
    return impl->reject(RejectReason::TransformFailed);

  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule =
      mlir::translateModuleToLLVMIR(*module, llvmContext, symbolPrefix);
  if (!llvmModule)
    return impl->reject(RejectReason::CodegenFailed);
  llvmModule->setTargetTriple(impl->machine->getTargetTriple());
  llvmModule->setDataLayout(impl->machine->createDataLayout());
  impl->addEntries(*llvmModule, task, payload, symbolPrefix, kernel);
  impl->optimize(*llvmModule, payload.autoVectorize);
  if (options.keepTexts) {
    llvm::raw_string_ostream out(kernel.llvmIrText);
    llvmModule->print(out, nullptr);
  }

  auto emit = [&](llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &to) {
    llvm::raw_svector_ostream stream(to);
    llvm::legacy::PassManager manager;
    if (impl->machine->addPassesToEmitFile(manager, stream, nullptr, type))
      return false;
    manager.run(*llvmModule);
    return true;
  };
  llvm::SmallVector<char, 0> bytes;
  if (options.keepTexts) {
    std::unique_ptr<llvm::Module> copy; // code generation changes the module
    llvm::SmallVector<char, 0> assembly;
    if (!emit(llvm::CodeGenFileType::AssemblyFile, assembly))
      return impl->reject(RejectReason::CodegenFailed);
    kernel.assemblyText.assign(assembly.begin(), assembly.end());
  }
  if (!emit(llvm::CodeGenFileType::ObjectFile, bytes))
    return impl->reject(RejectReason::CodegenFailed);
  kernel.object.assign(bytes.begin(), bytes.end());
  return kernel;
}

Pipeline::Pipeline(const Target &target)
    : impl(std::make_unique<Impl>(target)) {}
Pipeline::~Pipeline() = default;

Pipeline &Pipeline::forThread(const Target &target) {
  thread_local std::unique_ptr<Pipeline> pipeline;
  if (!pipeline || pipeline->impl->target.text() != target.text())
    pipeline = std::make_unique<Pipeline>(target);
  return *pipeline;
}
