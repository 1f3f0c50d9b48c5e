//===- Pipeline.h - from payload and script to object code ------*- C++ -*-===//
//
// The fixed half of code generation: parse, apply the transform script, verify
// that no allocation or copy is left, lower to LLVM, add the stage entry points
// and emit an object. One Pipeline belongs to one thread; it keeps an MLIR
// context and an LLVM target machine alive between kernels.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_PIPELINE_H
#define TLM_LOWER_PIPELINE_H

#include "lower/Kernel.h"
#include "lower/Payload.h"

#include <memory>
#include <string>

namespace tlm {

class Pipeline {
public:
  explicit Pipeline(const Target &target);
  ~Pipeline();

  Result<Kernel> compile(const Task &task, const Payload &payload,
                         const std::string &symbolPrefix,
                         const LowerOptions &options);

  /// The calling thread's pipeline for `target`.
  static Pipeline &forThread(const Target &target);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tlm

#endif // TLM_LOWER_PIPELINE_H
