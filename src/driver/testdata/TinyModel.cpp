//===- TinyModel.cpp ------------------------------------------------------===//

#include "driver/testdata/TinyModel.h"

#include "base/AtomicFile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <random>
#include <unistd.h>

namespace tlm {

ValueId TinyModel::addValue(const std::string &name, Dims dims) {
  Value value;
  value.name = name;
  value.dtype = DType::F32;
  value.dims = std::move(dims);
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size()) - 1;
}

ValueId TinyModel::addConstant(const std::string &name, Dims dims,
                               const std::vector<float> &data) {
  ValueId id = addValue(name, std::move(dims));
  auto copy = std::make_shared<std::vector<float>>(data);
  Constant &constant = graph.value(id).constant;
  constant.data = reinterpret_cast<const std::byte *>(copy->data());
  constant.sizeBytes = copy->size() * sizeof(float);
  constant.keepAlive = copy;
  return id;
}

int32_t TinyModel::addBuffer(BufferKind kind, BufferType type, ValueId value,
                             int64_t offset, int32_t index) {
  PlanBuffer buffer;
  buffer.kind = kind;
  buffer.type = std::move(type);
  buffer.value = value;
  buffer.offset = offset;
  buffer.index = index;
  plan.buffers.push_back(std::move(buffer));
  return int32_t(plan.buffers.size()) - 1;
}

TinyModel::TinyModel(std::vector<float> weightValues, float border)
    : weight(std::move(weightValues)), border(border) {
  target.cpu = "x86-64";
  target.features = {"sse2"};
  target.threads = 2;
  graph.name = "tiny";

  BufferType plain;
  plain.dims = {1, C, H, W};
  BufferType nhwc = plain;
  nhwc.layout = Layout::Nhwc;
  nhwc.channelStride = 16;
  BufferType bordered = nhwc;
  bordered.border = {1, 1, 1, 1, border};
  BufferType weightType;
  weightType.dims = {C, 1, 1};

  ValueId x = addValue("x", plain.dims), padded = addValue("x", plain.dims);
  ValueId z = addValue("z", plain.dims), y = addValue("y", plain.dims);
  ValueId w = addConstant("w", weightType.dims, weight);
  int64_t second = (bordered.sizeBytes() + 63) / 64 * 64;
  plan.arenaBytes = second + nhwc.sizeBytes();
  plan.naiveBytes = plan.arenaBytes;
  int32_t xBuffer = addBuffer(BufferKind::Input, plain, x);
  int32_t pBuffer = addBuffer(BufferKind::Arena, bordered, padded, 0);
  int32_t zBuffer = addBuffer(BufferKind::Arena, nhwc, z, second);
  int32_t yBuffer = addBuffer(BufferKind::Output, plain, y);
  int32_t wBuffer = addBuffer(BufferKind::Constant, weightType, w);
  plan.inputs = {xBuffer};
  plan.outputs = {yBuffer};
  graph.inputs = {x};
  graph.outputs = {y};

  Task copy;
  copy.kind = TaskKind::Copy;
  copy.operands = {{Role::Input, plain, false},
                   {Role::Output, bordered, false}};
  Task max;
  max.kind = TaskKind::MaxPool;
  max.windows = {{3, 1, 1, 1, 1}, {3, 1, 1, 1, 1}};
  max.operands = {{Role::Input, bordered, false}, {Role::Output, nhwc, false}};
  Task scale;
  scale.operands = {{Role::Input, nhwc, false},
                    {Role::Extra, weightType, true},
                    {Role::Output, plain, false}};
  scale.points = {{Op::Exp, {{PointRef::Kind::Accumulator, 0}}, 0, 0},
                  {Op::Mul,
                   {{PointRef::Kind::Point, 0}, {PointRef::Kind::Operand, 1}},
                   0,
                   0}};
  plan.tasks = {copy, max, scale};
  plan.steps = {{0, {xBuffer, pBuffer}, "node_copy"},
                {1, {pBuffer, zBuffer}, "node_max"},
                {2, {zBuffer, wBuffer, yBuffer}, "node_scale"}};

  auto object = readWholeFile(TLM_TEST_KERNELS);
  kernels.resize(3);
  kernels[0].stages = {{"tiny_copy", H}};
  kernels[0].object.assign(object->begin(), object->end());
  kernels[0].packings.resize(2);
  kernels[1].stages = {{"tiny_max", H}};
  kernels[1].packings.resize(2);
  kernels[1].workerScratchBytes = W * 16 * int64_t(sizeof(float));
  kernels[2].stages = {{"tiny_exp", H}, {"tiny_scale", H}};
  kernels[2].scratchBytes = H * W * 16 * int64_t(sizeof(float));
  kernels[2].packings.resize(3);
  Packing packing;
  packing.sourceDims = weightType.dims;
  packing.dims = {{0, 16, 1}};
  kernels[2].packings[1] = packing;
  for (Kernel &kernel : kernels)
    kernel.maxParallelism = 4;
  schedules.resize(3);
  for (size_t i = 0; i < 3; ++i)
    schedules[i].taskKey = plan.tasks[i].key();
}

ArtifactInput TinyModel::input(const std::string &name) const {
  ArtifactInput input;
  input.graph = &graph;
  input.plan = &plan;
  input.kernels = &kernels;
  input.schedules = &schedules;
  input.target = target;
  input.name = name;
  input.threads = 2;
  return input;
}

void TinyModel::addHandedThroughOutputs() {
  plan.outputs.push_back(plan.outputs[0]);
  plan.outputs.push_back(plan.inputs[0]);
  plan.outputs.push_back(4); // w
}

void TinyModel::addBallast(size_t bytes) {
  std::vector<float> data(bytes / sizeof(float));
  std::mt19937 random(7);
  for (float &value : data)
    value = float(random()) / 1e9f;
  ValueId id = addConstant("ballast", {int64_t(data.size())}, data);
  BufferType type;
  type.dims = {int64_t(data.size())};
  int32_t buffer = addBuffer(BufferKind::Constant, type, id);
  plan.tasks[0].operands.insert(plan.tasks[0].operands.begin() + 1,
                                {Role::Extra, type, true});
  plan.steps[0].operands.insert(plan.steps[0].operands.begin() + 1, buffer);
  kernels[0].stages[0].symbol = "tiny_copy_ballast";
  kernels[0].packings.resize(3);
}

std::vector<float> TinyModel::randomInput(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(size);
  for (float &value : x)
    value = float(random() % 2001) / 1000.0f - 1.0f;
  return x;
}

std::vector<float> TinyModel::expected(const std::vector<float> &x) const {
  std::vector<float> y(size);
  for (int64_t c = 0; c < C; ++c)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t w = 0; w < W; ++w) {
        float best = -INFINITY;
        for (int64_t i = h - 1; i <= h + 1; ++i)
          for (int64_t j = w - 1; j <= w + 1; ++j) {
            bool isInside = i >= 0 && i < H && j >= 0 && j < W;
            best = std::max(best,
                            isInside ? x[size_t((c * H + i) * W + j)] : border);
          }
        y[size_t((c * H + H - 1 - h) * W + w)] =
            weight[size_t(c)] * std::exp(best);
      }
  return y;
}

LoadedArtifact::LoadedArtifact(const std::string &path) {
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    error = dlerror();
    return;
  }
  auto entry = reinterpret_cast<decltype(&tlm_artifact_api)>(
      dlsym(handle, "tlm_artifact_api"));
  api = entry ? entry(TLM_ABI_VERSION) : nullptr;
}

LoadedArtifact::~LoadedArtifact() {
  if (handle)
    dlclose(handle);
}

TestDirectory::TestDirectory() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "tlm-testXXXXXX").string();
  if (char *made = mkdtemp(pattern.data()))
    path = made;
}

TestDirectory::~TestDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

} // namespace tlm
