//===- Emit.cpp - what compile can write ----------------------------------===//

#include "Emit.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace tlm {
namespace {

constexpr EmitInfo kKinds[] = {
    {EmitKind::Lib, "lib", ".so", false},
    {EmitKind::Header, "header", ".h", true},
    {EmitKind::Mlir, "mlir", ".mlir", true},
    {EmitKind::Schedule, "schedule", ".schedule.mlir", true},
    {EmitKind::LlvmIr, "llvm-ir", ".ll", true},
    {EmitKind::Asm, "asm", ".s", true},
    {EmitKind::Obj, "obj", ".a", false},
};

/// Every line of `text` behind `comment`.
std::string commented(const std::string &text, const std::string &comment) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    out += comment + " " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string kernelText(EmitKind kind, const Task &task,
                       const Schedule &schedule, const Kernel &kernel) {
  const char *comment = kind == EmitKind::LlvmIr ? ";"
                        : kind == EmitKind::Asm  ? "#"
                                                 : "//";
  std::string head = commented(task.label() + "\n" + task.text(), comment);
  switch (kind) {
  case EmitKind::Mlir:
    return head + kernel.payloadText;
  case EmitKind::Schedule:
    return head + commented(schedule.text(), comment) + kernel.scheduleText;
  case EmitKind::LlvmIr:
    return head + kernel.llvmIrText;
  default:
    return head + kernel.assemblyText;
  }
}

/// The System V archive format, deterministic: no dates, no owners. The long
/// names of GNU's "//" member are not needed: names are short.
std::string archive(const std::vector<Kernel> &kernels) {
  std::string out = "!<arch>\n";
  char header[61];
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::vector<char> &object = kernels[i].object;
    std::string name = "kernel" + std::to_string(i) + ".o/";
    std::snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8s%-10zu`\n",
                  name.c_str(), 0, 0, 0, "644", object.size());
    out += header;
    out.append(object.data(), object.size());
    if (object.size() % 2)
      out += '\n';
  }
  return out;
}

} // namespace

const EmitInfo &infoOf(EmitKind kind) { return kKinds[size_t(kind)]; }

Result<std::vector<EmitKind>> parseEmit(const std::vector<std::string> &names) {
  std::vector<EmitKind> kinds;
  for (const std::string &name : names) {
    auto info = std::find_if(std::begin(kKinds), std::end(kKinds),
                             [&](const EmitInfo &i) { return i.name == name; });
    if (info == std::end(kKinds))
      return makeError("--emit '" + name +
                           "': expected lib, header, mlir, schedule, llvm-ir, "
                           "asm or obj",
                       {}, ErrorCode::Usage);
    if (std::find(kinds.begin(), kinds.end(), info->kind) == kinds.end())
      kinds.push_back(info->kind);
  }
  return kinds;
}

std::string emitPath(EmitKind kind, const std::vector<EmitKind> &kinds,
                     const std::string &output, const std::string &model) {
  if (!output.empty() && (kind == kinds[0] || output == "-"))
    return output;
  std::filesystem::path path = output.empty()
                                   ? std::filesystem::path(model).filename()
                                   : std::filesystem::path(output);
  return path.replace_extension(infoOf(kind).extension).string();
}

std::string emitBytes(EmitKind kind, const Compilation &compilation,
                      const CompileOptions &options) {
  if (kind == EmitKind::Header)
    return headerText(compilation.artifactInput(options));
  if (kind == EmitKind::Obj)
    return archive(compilation.kernels);
  const char *separator = kind == EmitKind::LlvmIr ? "; -----\n"
                          : kind == EmitKind::Asm  ? "# -----\n"
                                                   : "// -----\n";
  std::string out;
  for (size_t i = 0; i < compilation.kernels.size(); ++i) {
    if (i)
      out += separator;
    out += kernelText(kind, compilation.plan.tasks[i], compilation.schedules[i],
                      compilation.kernels[i]);
    if (!out.empty() && out.back() != '\n')
      out += '\n';
  }
  return out;
}

} // namespace tlm
