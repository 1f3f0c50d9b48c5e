#include "import/NodeImporter.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"

#include <algorithm>

using namespace tlm;
using Kind = OnnxAttribute::Kind;

bool NodeImporter::allConstant() const {
  return std::ranges::all_of(inputIds, [&](ValueId id) {
    return id == kNoValue || value(id).isConstant();
  });
}

Status NodeImporter::spend(int64_t elements, int64_t keptBytes) const {
  constexpr int64_t kMaxListed = int64_t(1) << 24, kCostOfEach = 10;
  if (elements > kMaxListed || !builder.take(kCostOfEach * elements, keptBytes))
    return makeError("constants take too long to compute: " +
                     std::to_string(elements) + " numbers more");
  return success();
}

Result<std::vector<int64_t>> NodeImporter::listOf(const Value &operand) const {
  TLM_TRY_STATUS(spend(countOf(operand.dims)));
  return readInts(operand);
}

Result<std::vector<int64_t>> NodeImporter::constantInts(size_t i) const {
  const Value &operand = value(inputIds[i]);
  if (!operand.isConstant())
    return makeError("input " + std::to_string(i) + " ('" + operand.name +
                     "') must be a constant, but is computed");
  if (!holdsInts(operand.dtype))
    return makeError("input " + std::to_string(i) + " ('" + operand.name +
                     "') must hold integers, found " +
                     typeText(operand.dtype, operand.dims));
  return listOf(operand);
}

Result<double> NodeImporter::constantNumber(size_t i) const {
  const Value &operand = value(inputIds[i]);
  std::optional<std::vector<double>> numbers;
  if (operand.isConstant() && countOf(operand.dims) == 1)
    numbers = readNumbers(operand);
  if (!numbers)
    return makeError("input " + std::to_string(i) + " ('" + operand.name +
                     "') must be a constant scalar, found " +
                     (operand.isConstant() ? "" : "computed ") +
                     typeText(operand.dtype, operand.dims));
  return (*numbers)[0];
}

Result<std::vector<double>> NodeImporter::constantReals(size_t i) const {
  const Value &operand = value(inputIds[i]);
  std::optional<std::vector<double>> numbers;
  if (operand.isConstant() && !holdsInts(operand.dtype)) {
    TLM_TRY_STATUS(spend(countOf(operand.dims)));
    numbers = readNumbers(operand);
  }
  if (!numbers)
    return makeError("input " + std::to_string(i) + " ('" + operand.name +
                     "') must be constant numbers, found " +
                     (operand.isConstant() ? "" : "computed ") +
                     typeText(operand.dtype, operand.dims));
  return *numbers;
}

bool NodeImporter::hasAttribute(std::string_view name) const {
  return std::ranges::any_of(node.attributes, [&](const OnnxAttribute &each) {
    return each.name == name;
  });
}

const OnnxAttribute *NodeImporter::find(std::string_view name, Kind kind) {
  for (const OnnxAttribute &attribute : node.attributes) {
    if (attribute.name != name)
      continue;
    if (attribute.kind == kind)
      return &attribute;
    wrongAttribute = name;
  }
  return nullptr;
}

int64_t NodeImporter::intAttribute(std::string_view name, int64_t absent) {
  const OnnxAttribute *found = find(name, Kind::Int);
  return found ? found->i : absent;
}

float NodeImporter::floatAttribute(std::string_view name, float absent) {
  const OnnxAttribute *found = find(name, Kind::Float);
  return found ? found->f : absent;
}

std::string NodeImporter::stringAttribute(std::string_view name,
                                          std::string absent) {
  const OnnxAttribute *found = find(name, Kind::String);
  return found ? found->s : absent;
}

std::vector<int64_t> NodeImporter::intsAttribute(std::string_view name,
                                                 std::vector<int64_t> absent) {
  const OnnxAttribute *found = find(name, Kind::Ints);
  return found ? found->ints : absent;
}

std::vector<float> NodeImporter::floatsAttribute(std::string_view name) {
  const OnnxAttribute *found = find(name, Kind::Floats);
  return found ? found->floats : std::vector<float>();
}

std::vector<std::string> NodeImporter::stringsAttribute(std::string_view name) {
  const OnnxAttribute *found = find(name, Kind::Strings);
  return found ? found->strings : std::vector<std::string>();
}

const OnnxGraph *NodeImporter::graphAttribute(std::string_view name) {
  const OnnxAttribute *found = find(name, Kind::Graph);
  return found ? found->graph.get() : nullptr;
}

const OnnxTensor *NodeImporter::tensorAttribute(std::string_view name) {
  const OnnxAttribute *found = find(name, Kind::Tensor);
  return found ? &*found->tensor : nullptr;
}

Status NodeImporter::attributeStatus() const {
  if (!wrongAttribute.empty())
    return makeError("attribute '" + wrongAttribute + "' is of the wrong kind");
  return success();
}

Result<int64_t> NodeImporter::normaliseAxis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return makeError("axis " + std::to_string(axis) + " is outside [" +
                     std::to_string(-rank) + "," + std::to_string(rank - 1) +
                     "]");
  return axis < 0 ? axis + rank : axis;
}

Result<std::vector<int64_t>>
NodeImporter::normaliseAxes(std::vector<int64_t> axes, int64_t rank) const {
  std::vector<bool> seen(size_t(rank), false);
  for (int64_t &axis : axes) {
    TLM_TRY(axis, normaliseAxis(axis, rank));
    if (seen[size_t(axis)])
      return makeError("axis " + std::to_string(axis) + " is named twice");
    seen[size_t(axis)] = true;
  }
  return axes;
}

std::string NodeImporter::firstOutput() const {
  for (const std::string &name : node.outputs)
    if (!name.empty())
      return name;
  return node.name;
}

std::string NodeImporter::nextName() const {
  std::string base = firstOutput();
  return base + "#" + std::to_string(graph.values.size() - firstNew + 1);
}

Result<ValueId> NodeImporter::emit(Op op, std::vector<ValueId> inputs,
                                   OpAttributes attributes) {
  std::string name = node.name.empty() ? firstOutput() : node.name;
  return builder.add(op, std::move(inputs), std::move(attributes), nextName(),
                     std::move(name));
}

Result<ValueId> NodeImporter::reshape(ValueId input, Dims dims) {
  if (value(input).dims == dims)
    return input;
  std::string name = node.name.empty() ? firstOutput() : node.name;
  return builder.addReshape(input, std::move(dims), nextName(),
                            std::move(name));
}

ValueId NodeImporter::constant(Dims dims, std::vector<float> data) {
  return builder.addConstant(nextName(), std::move(dims), std::move(data));
}

ValueId NodeImporter::constant(DType dtype, Dims dims, Constant data) {
  return builder.addConstant(nextName(), dtype, std::move(dims),
                             std::move(data));
}

Status NodeImporter::bind(ValueId id, size_t output) {
  if (output >= outputIds.size())
    return success(); // nobody asked for it
  bool bound = std::ranges::count(outputIds, id) != 0;
  outputIds[output] = id;
  if (size_t(id) >= firstNew && !bound && !node.outputs[output].empty())
    graph.value(id).name = node.outputs[output];
  return success();
}

Status NodeImporter::bind(const Result<ValueId> &id) {
  if (!id)
    return id.error();
  return bind(*id, 0);
}

Error NodeImporter::unsupported(std::string reason) {
  refused = true;
  return makeError(std::move(reason));
}
