// Branches and loops whose course is known at import are put in place. An If
// whose condition is computed runs both branches, which have no effects, and
// chooses.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"
#include "import/ops/Expression.h"
#include "import/ops/Rearrange.h"

#include <algorithm>

using namespace tlm;

namespace {

/// Iterations a loop may have: each becomes nodes.
constexpr int64_t kMaxIterations = 64;

std::optional<bool> knownTruth(NodeImporter &node, ValueId id) {
  const Value &value = node.value(id);
  if (!value.isConstant() || !holdsInts(value.dtype) ||
      countOf(value.dims) != 1)
    return std::nullopt;
  return readInts(value)[0] != 0;
}

Status bindAll(NodeImporter &node, const std::vector<ValueId> &results) {
  if (results.size() != node.outputCount())
    return makeError("its graph yields " + std::to_string(results.size()) +
                     " values, the node " + std::to_string(node.outputCount()));
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i] != kNoValue)
      TLM_TRY_STATUS(node.bind(results[i], i));
  return success();
}

/// One value per iteration, along a new first dim.
Result<ValueId> stack(NodeImporter &node, const std::vector<ValueId> &parts,
                      int64_t axis) {
  std::vector<ValueId> raised;
  for (ValueId part : parts) {
    Dims dims = node.dims(part);
    if (axis > int64_t(dims.size()))
      return makeError("an axis of " + std::to_string(axis));
    dims.insert(dims.begin() + axis, 1);
    TLM_TRY(ValueId made, node.reshape(part, dims));
    raised.push_back(made);
  }
  return emitConcat(node, raised, axis);
}

} // namespace

Status tlm::importIf(NodeImporter &node) {
  const OnnxGraph *yes = node.graphAttribute("then_branch");
  const OnnxGraph *no = node.graphAttribute("else_branch");
  if (!yes || !no)
    return makeError("then_branch or else_branch is missing");
  ValueId condition = node.input(0);
  if (node.dtype(condition) != DType::Bool ||
      countOf(node.dims(condition)) != 1)
    return makeError("a condition of " +
                     typeText(node.dtype(condition), node.dims(condition)));
  if (auto truth = knownTruth(node, condition)) {
    TLM_TRY(auto results, node.inlineGraph(*truth ? *yes : *no, {}));
    return bindAll(node, results);
  }
  TLM_TRY(auto results, node.inlineGraph(*yes, {}));
  TLM_TRY(auto others, node.inlineGraph(*no, {}));
  if (results.size() != others.size())
    return makeError("its branches yield different numbers of values");
  for (size_t i = 0; i < results.size(); ++i) {
    ValueId a = results[i], b = others[i];
    if (a == kNoValue || b == kNoValue)
      continue;
    if (node.dims(a) != node.dims(b) || node.dtype(a) != node.dtype(b))
      return node.unsupported("a computed condition and branches of unlike "
                              "shapes");
    Expression e(node, node.dims(a));
    Term truth =
        e.load(condition,
               std::vector<Term>(node.dims(condition).size(), e.integer(0)));
    TLM_TRY(results[i], e.emit(select(truth, e.element(a), e.element(b))));
  }
  return bindAll(node, results);
}

/// Inputs: trip count, condition, what is carried. The body takes the
/// iteration's number, the condition and what is carried, and yields the
/// condition, what is carried, and values to stack.
Status tlm::importLoop(NodeImporter &node) {
  const OnnxGraph *body = node.graphAttribute("body");
  if (!body || body->inputs.size() < 2 ||
      body->outputs.size() + 1 < body->inputs.size())
    return makeError("body is missing or has too few inputs or outputs");
  int64_t trips = kMaxIterations + 1;
  if (node.hasInput(0)) {
    if (!node.value(node.input(0)).isConstant())
      return node.unsupported("a trip count that is computed from data");
    TLM_TRY(auto count, node.constantInts(0));
    if (count.size() != 1)
      return makeError("a trip count of several numbers");
    trips = std::min(trips, count[0]);
  }
  bool running = true;
  auto check = [&](ValueId condition) -> Status {
    auto truth = knownTruth(node, condition);
    if (!truth)
      return node.unsupported("a condition that is computed from data");
    running = *truth;
    return success();
  };
  if (node.hasInput(1))
    TLM_TRY_STATUS(check(node.input(1)));
  size_t carriedCount = body->inputs.size() - 2;
  std::vector<ValueId> carried;
  for (size_t i = 0; i < carriedCount; ++i) {
    if (!node.hasInput(i + 2))
      return makeError("a carried value is missing");
    carried.push_back(node.input(i + 2));
  }
  size_t stackedCount = body->outputs.size() - 1 - carriedCount;
  std::vector<std::vector<ValueId>> stacked(stackedCount);
  for (int64_t i = 0; i < trips && running; ++i) {
    if (i == kMaxIterations)
      return node.unsupported("more than " + std::to_string(kMaxIterations) +
                              " iterations");
    std::vector<ValueId> inputs = {
        node.constant(DType::I64, {}, makeConstant(std::vector<int64_t>{i})),
        node.constant(DType::Bool, {}, writeInts(DType::Bool, {1}))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    TLM_TRY(auto results, node.inlineGraph(*body, inputs));
    if (std::ranges::count(results, kNoValue) != 0)
      return success(); // what is unsupported inside is in the table
    TLM_TRY_STATUS(check(results[0]));
    carried.assign(results.begin() + 1,
                   results.begin() + 1 + int64_t(carriedCount));
    for (size_t k = 0; k < stackedCount; ++k)
      stacked[k].push_back(results[1 + carriedCount + k]);
  }
  std::vector<ValueId> outputs = carried;
  for (const std::vector<ValueId> &parts : stacked) {
    if (parts.empty())
      return node.unsupported("no iterations with stacked outputs");
    TLM_TRY(ValueId joined, stack(node, parts, 0));
    outputs.push_back(joined);
  }
  return bindAll(node, outputs);
}

/// Opset 9 on: states, then inputs that are taken apart along an axis.
Status tlm::importScan(NodeImporter &node) {
  const OnnxGraph *body = node.graphAttribute("body");
  int64_t scans = node.intAttribute("num_scan_inputs", 0);
  if (node.opset() < 9)
    return node.unsupported("opset 8");
  if (!body || scans < 1 || scans > int64_t(node.inputCount()))
    return makeError("body or num_scan_inputs");
  size_t states = node.inputCount() - size_t(scans);
  if (body->outputs.size() < states)
    return makeError("its graph yields too few values");
  size_t results = body->outputs.size() - states;
  auto read = [&](const char *name, size_t count) {
    return node.intsAttribute(name, std::vector<int64_t>(count, 0));
  };
  auto inAxes = read("scan_input_axes", size_t(scans));
  auto inTurned = read("scan_input_directions", size_t(scans));
  auto outAxes = read("scan_output_axes", results);
  auto outTurned = read("scan_output_directions", results);
  if (inAxes.size() != size_t(scans) || inTurned.size() != size_t(scans) ||
      outAxes.size() != results || outTurned.size() != results)
    return makeError("axes or directions of another number than the values");
  int64_t steps = -1;
  for (size_t i = 0; i < size_t(scans); ++i) {
    if (!node.hasInput(states + i))
      return makeError("a scan input is missing");
    ValueId id = node.input(states + i);
    TLM_TRY(inAxes[i], node.normaliseAxis(inAxes[i], node.rank(id)));
    int64_t extent = node.dims(id)[size_t(inAxes[i])];
    if (steps >= 0 && extent != steps)
      return makeError("scan inputs of different lengths");
    steps = extent;
  }
  if (steps < 1 || steps > kMaxIterations)
    return node.unsupported(std::to_string(steps) + " iterations");
  std::vector<ValueId> carried(node.inputs().begin(),
                               node.inputs().begin() + int64_t(states));
  std::vector<std::vector<ValueId>> stacked(results);
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<ValueId> inputs = carried;
    for (size_t i = 0; i < size_t(scans); ++i) {
      ValueId id = node.input(states + i);
      size_t axis = size_t(inAxes[i]);
      int64_t at = inTurned[i] ? steps - 1 - step : step;
      Dims dims = node.dims(id);
      dims.erase(dims.begin() + int64_t(axis));
      TLM_TRY(ValueId slice, emitSlice(node, id, axis, at, 1));
      TLM_TRY(slice, node.reshape(slice, dims));
      inputs.push_back(slice);
    }
    TLM_TRY(auto made, node.inlineGraph(*body, inputs));
    if (std::ranges::count(made, kNoValue) != 0)
      return success(); // what is unsupported inside is in the table
    carried.assign(made.begin(), made.begin() + int64_t(states));
    for (size_t k = 0; k < results; ++k)
      stacked[k].push_back(made[states + k]);
  }
  std::vector<ValueId> outputs = carried;
  for (size_t k = 0; k < results; ++k) {
    if (outTurned[k])
      std::ranges::reverse(stacked[k]);
    TLM_TRY(int64_t axis,
            node.normaliseAxis(outAxes[k], node.rank(stacked[k][0]) + 1));
    TLM_TRY(ValueId joined, stack(node, stacked[k], axis));
    outputs.push_back(joined);
  }
  return bindAll(node, outputs);
}
