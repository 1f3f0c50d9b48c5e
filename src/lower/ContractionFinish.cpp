#include "lower/ContractionBuilder.h"
#include "lower/LoopNest.h"
#include "lower/Text.h"

#include <map>

using namespace tlm;

std::string ContractionBuilder::loadExtra(LoopNest &nest, size_t index,
                                          LoopNest::Index start,
                                          const std::string &y,
                                          const std::string &x, int64_t i,
                                          int64_t column, int64_t width) const {
  const Operand &operand = task.operands[index];
  LoopNest::Array array{argumentName(int(index)), floatsOf(index)};
  Access access = accessOf(operand);
  bool spans = access == Access::PerFilter;
  int64_t base = 0;
  if (access == Access::Activation) {
    std::vector<int64_t> s = shape.activationStrides(operand.type);
    start.insert(start.end(), {{y, s[1]}, {x, s[2]}});
    base = i * s[2];
    spans = shape.spansFilters(operand.type);
  }
  if (spans)
    return nest.load(array, nest.index(base + column, start), width);
  std::string value = nest.load(array, nest.index(base, start));
  if (!width)
    return value;
  std::string wide = nest.fresh();
  nest.raw(cat("    ", wide, " = vector.broadcast ", value, " : f32 to vector<",
               width, "xf32>\n"));
  return wide;
}

// The columns of a ragged panel that exist: from the worker's scratch, through
// the epilogue, to the output.
std::string ContractionBuilder::finishColumns(const Panels &run) const {
  int64_t columns = shape.groupFilters - run.first * panelLanes();
  int64_t h = byHeight() ? chunkRows : 1;
  int64_t w = byHeight() ? shape.width : chunkRows;
  LoopNest nest("n");
  std::map<int64_t, PointEmitter> emitters;
  LoopNest::Array worker{"%worker", payload.workerFloats};
  size_t output = task.operands.size() - 1;
  LoopNest::Array out{argumentName(int(output)), floatsOf(output)};
  std::vector<std::string> starts(output);
  for (size_t i = 0; i < output; ++i)
    if (task.operands[i].role == Role::Extra)
      starts[i] = nest.affine(extraOffset(run, i), {"%chunk"});
  std::string outStart =
      nest.affine(cat(shape.outputOrigin + run.first * panelLanes(), " + ",
                      chunkOffset(run, shape.outputStrides[0],
                                  shape.outputStrides[byHeight() ? 1 : 2],
                                  shape.groupFilters, 0)),
                  {"%chunk"});

  std::string y = nest.open("y", h), x = nest.open("x", w);
  for (int64_t c = 0, part; c < columns; c += part) {
    part = vectorPart(columns - c, lanes);
    int64_t width = part == 1 ? 0 : part;
    PointEmitter &emitter =
        emitters.try_emplace(part, width, cat("e", part, "_")).first->second;
    std::string sum = nest.load(
        worker, nest.index(c, {{y, w * panelLanes()}, {x, panelLanes()}}),
        width);
    std::vector<std::string> extras(task.operands.size());
    for (size_t i = 0; i < output; ++i)
      if (task.operands[i].role == Role::Extra)
        extras[i] = loadExtra(nest, i, {{starts[i], 1}}, y, x, 0, c, width);
    std::string result = emitter.emitEpilogue(task, sum, extras);
    nest.raw(emitter.body());
    emitter.clearBody();
    nest.store(result, out,
               nest.index(c, {{outStart, 1},
                              {y, shape.outputStrides[1]},
                              {x, shape.outputStrides[2]}}),
               width);
  }
  // Lanes behind C must hold finite values (BufferType.h): the last group's.
  if (shape.outputFilters > shape.filters) {
    std::string one = nest.index(1, {}), none = nest.index(0, {});
    std::string isLast = nest.affine(
        cat("(1 + ", chunkOffset(run, 0, 0, 1, 0), ") floordiv ", shape.groups),
        {"%chunk"});
    nest.openBetween("last", none, isLast);
    for (int64_t c = 0, part, rest = shape.outputFilters - shape.filters;
         c < rest; c += part) {
      part = vectorPart(rest - c, lanes);
      int64_t width = part == 1 ? 0 : part;
      nest.store(nest.constant(0.0f, width), out,
                 nest.index(columns + c, {{outStart, 1},
                                          {y, shape.outputStrides[1]},
                                          {x, shape.outputStrides[2]}}),
                 width);
    }
    nest.close();
  }
  nest.close();
  nest.close();
  std::string constants;
  for (auto &[part, emitter] : emitters)
    constants += emitter.constants();
  return constants + nest.text();
}
