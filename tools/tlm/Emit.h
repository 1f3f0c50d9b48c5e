//===- Emit.h - what compile can write --------------------------*- C++ -*-===//

#ifndef TLM_TOOLS_EMIT_H
#define TLM_TOOLS_EMIT_H

#include "base/Result.h"
#include "driver/Compile.h"

#include <string>
#include <vector>

namespace tlm {

enum class EmitKind { Lib, Header, Mlir, Schedule, LlvmIr, Asm, Obj };

struct EmitInfo {
  EmitKind kind;
  const char *name;      ///< of --emit
  const char *extension; ///< ".so"
  bool isText;           ///< may go to stdout
};

const EmitInfo &infoOf(EmitKind kind);

/// "lib,header" -> kinds, without duplicates, in order.
Result<std::vector<EmitKind>> parseEmit(const std::vector<std::string> &names);

/// Where `kind` goes: exactly `output` when it is the first kind of the list,
/// else `output` with the kind's extension. An empty `output` is the model's
/// file name with the extension.
std::string emitPath(EmitKind kind, const std::vector<EmitKind> &kinds,
                     const std::string &output, const std::string &model);

/// The text or bytes of a kind (not Lib). Kernels are in task order. Mlir,
/// Schedule, LlvmIr and Asm are split by "// -----" lines in the comment form
/// of their language; Obj is an archive (ar) of one object a task.
std::string emitBytes(EmitKind kind, const Compilation &compilation,
                      const CompileOptions &options);

} // namespace tlm

#endif // TLM_TOOLS_EMIT_H
