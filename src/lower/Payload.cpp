#include "lower/Payload.h"

#include "lower/Text.h"

using namespace tlm;

std::string tlm::argumentName(int operand) { return cat("%a", operand); }

std::string tlm::memoryType(DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::F16:
  case DType::F64:
  case DType::BF16:
    return std::string(nameOf(dtype));
  default:
    return cat("i", 8 * sizeOf(dtype));
  }
}

BalancedTiles tlm::balancedTiles(int64_t extent, int64_t most) {
  int64_t tiles = (extent + most - 1) / most;
  int64_t size = extent / tiles, rest = extent % tiles;
  if (!rest)
    return {size, tiles, 0};
  return {size + 1, rest, size};
}

ViewText tlm::view(const std::string &name, const std::string &argument,
                   int64_t floats, const std::string &offset,
                   const std::vector<int64_t> &sizes,
                   const std::vector<int64_t> &strides, bool writable,
                   const std::string &step) {
  ViewText text;
  text.name = name;
  text.memrefType = cat("memref<", shapeText(sizes), ", strided<[",
                        join(strides, ", "), "], offset: ?>>");
  text.tensorType = cat("tensor<", shapeText(sizes), ">");
  text.ops =
      cat("  %", name, "_o = affine.apply affine_map<(d0",
          step.empty() ? "" : ", d1", ") -> (", offset, ")>(%chunk",
          step.empty() ? "" : ", ", step, ")\n", "  %", name,
          " = memref.reinterpret_cast ", argument, " to offset: [%", name,
          "_o], sizes: [", join(sizes, ", "), "], strides: [",
          join(strides, ", "), "] : memref<", floats, "xf32> to ",
          text.memrefType, "\n", "  %", name, "_t = bufferization.to_tensor %",
          name, " restrict", writable ? " writable" : "", " : ",
          text.memrefType, " to ", text.tensorType, "\n");
  return text;
}

std::vector<int64_t> Payload::argumentFloats(const Task &task) const {
  std::vector<int64_t> floats;
  for (size_t i = 0; i < task.operands.size(); ++i)
    floats.push_back(packings[i] ? packings[i]->elementCount()
                                 : task.operands[i].type.elementCount());
  floats.push_back(scratchFloats);
  floats.push_back(workerFloats * 4 / int64_t(sizeOf(workerType)));
  return floats;
}

std::vector<std::string> Payload::argumentTypes(const Task &task) const {
  std::vector<std::string> types;
  for (const Operand &operand : task.operands)
    types.push_back(memoryType(operand.type.dtype));
  types.push_back("f32");
  types.push_back(memoryType(workerType));
  return types;
}

std::string Payload::payloadText(const Task &task) const {
  std::vector<int64_t> floats = argumentFloats(task);
  std::vector<std::string> types = argumentTypes(task);
  std::vector<std::string> arguments;
  for (size_t i = 0; i < floats.size(); ++i) {
    std::string name = i < task.operands.size()    ? argumentName(int(i))
                       : i == task.operands.size() ? "%scratch"
                                                   : "%worker";
    arguments.push_back(
        cat(name, ": memref<", floats[i], "x", types[i], "> {llvm.noalias}"));
  }
  arguments.push_back("%chunk: index");
  std::string text;
  for (const Stage &stage : stages)
    text +=
        cat("func.func @", stage.name, "(", join(arguments, ", "), ")",
            stage.streamed >= 0
                ? cat(" attributes {stream_argument = ", stage.streamed, "}")
                : "",
            " {\n", stage.body, "  return\n}\n");
  return text;
}

std::string Payload::moduleText(const Task &task) const {
  return cat("module attributes {transform.with_named_sequence} {\n",
             payloadText(task), scriptText(), "}\n");
}

static constexpr const char *kAny = "!transform.any_op";

std::string Payload::scriptText() const {
  std::string text =
      cat("transform.named_sequence @__transform_main(%m: ", kAny, ") {\n");
  for (const Stage &stage : stages) {
    if (stage.script.empty())
      continue;
    text += cat("  %fn_", stage.name,
                " = transform.structured.match ops{[\"func.func\"]} "
                "attributes{sym_name = \"",
                stage.name, "\"} in %m : (", kAny, ") -> ", kAny, "\n",
                stage.script);
  }
  // What every kernel needs after its own schedule. lower_transfer must come
  // before transfer_to_scf: broadcast reads otherwise become a loop of vector
  // inserts per lane.
  text += cat(
      R"(  %mb = transform.bufferization.one_shot_bufferize layout{IdentityLayoutMap} %m {bufferize_function_boundaries = true} : ()",
      kAny, ") -> ", kAny, R"(
  %fb = transform.structured.match ops{["func.func"]} in %mb : ()",
      kAny, ") -> ", kAny, R"(
  transform.apply_patterns to %fb {
    transform.apply_patterns.canonicalization
    transform.apply_patterns.memref.fold_memref_alias_ops
  } : )",
      kAny, R"(
  transform.apply_cse to %fb : )",
      kAny, R"(
  transform.apply_patterns to %fb {
    transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
    transform.apply_patterns.vector.lower_multi_reduction lowering_strategy = "innerparallel"
    transform.apply_patterns.canonicalization
  } : )",
      kAny, R"(
  transform.apply_patterns to %fb {
    transform.apply_patterns.vector.lower_outerproduct
    transform.apply_patterns.vector.lower_broadcast
    transform.apply_patterns.vector.lower_transfer max_transfer_rank = 1
    transform.apply_patterns.vector.transfer_to_scf max_transfer_rank = 1 full_unroll = true
    transform.apply_patterns.vector.lower_transpose lowering_strategy = "shuffle_1d"
    transform.apply_patterns.canonicalization
  } : )",
      kAny, R"(
  transform.yield
}
)");
  return text;
}
