#include "train/ContractionKey.h"

#include "base/AtomicFile.h"

#include <sstream>

using namespace tlm;

namespace {

std::string product(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return "f32 matmul b" + std::to_string(batch) + " m" + std::to_string(m) +
         " n" + std::to_string(n) + " k" + std::to_string(k);
}

std::string pair(int64_t a, int64_t b) {
  return std::to_string(a) + 'x' + std::to_string(b);
}

std::string convolution(const Task &task) {
  const std::vector<int64_t> &in = task.operands.front().type.dims;
  const std::vector<int64_t> &out = task.output().type.dims;
  const Window &h = task.windows[0], &w = task.windows[1];
  int64_t channels = in[1] / task.groups, filters = out[1] / task.groups;
  bool dense = h.kernel == 1 && w.kernel == 1 && h.stride == 1 && w.stride == 1;
  if (dense && h.padBegin + h.padEnd + w.padBegin + w.padEnd == 0)
    return product(task.groups, out[0] * out[2] * out[3], filters, channels);
  return "f32 conv n" + std::to_string(out[0]) + " g" +
         std::to_string(task.groups) + " f" + std::to_string(filters) + " c" +
         std::to_string(channels) + " out" + pair(out[2], out[3]) + " kernel" +
         pair(h.kernel, w.kernel) + " stride" + pair(h.stride, w.stride) +
         " dilation" + pair(h.dilation, w.dilation);
}

std::string batchMatMul(const Task &task) {
  const std::vector<int64_t> &x = task.operands[0].type.dims;
  const std::vector<int64_t> &y = task.operands[1].type.dims;
  const std::vector<int64_t> &out = task.output().type.dims;
  // One right matrix for all: a matrix of more rows.
  if (y[0] == 1 && x[0] == out[0])
    return product(1, out[0] * out[1], out[2], x[2]);
  return product(out[0], out[1], out[2], x[2]);
}

} // namespace

std::vector<std::string> tlm::contractionKeys(const Task &task) {
  const std::vector<int64_t> &out = task.output().type.dims;
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
    return {convolution(task)};
  case TaskKind::MatMul:
    return {product(1, out[0], out[1], task.operands[0].type.dims[1])};
  case TaskKind::BatchMatMul:
    return {batchMatMul(task)};
  case TaskKind::Attention: {
    const std::vector<int64_t> &q = task.operands[0].type.dims;
    const std::vector<int64_t> &k = task.operands[1].type.dims;
    int64_t heads = task.attention.heads, keys = k[k.size() - 2];
    int64_t depth = q.size() == 4 ? q[3] : q[2] / heads;
    int64_t batch = out[0] * heads;
    return {product(batch, out[1], keys, depth),
            product(batch, out[1], out[2] / heads, keys)};
  }
  default:
    return {};
  }
}

Result<HeldOutKeys> HeldOutKeys::read(const std::string &path) {
  TLM_TRY(auto text, readWholeFile(path));
  HeldOutKeys heldOut;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("f32 "))
      return makeError(path + ": line " +
                           std::to_string(heldOut.keys.size() + 1) +
                           " is no key of a contraction: '" + line + "'",
                       "tlm-sentences corpus writes such files");
    heldOut.keys.insert(line);
  }
  return heldOut;
}

Status HeldOutKeys::write(const std::string &path) const {
  std::string text;
  for (const std::string &key : keys)
    text += key + '\n';
  return writeFileAtomically(path, text);
}

void HeldOutKeys::add(const Task &task) {
  for (std::string &key : contractionKeys(task))
    keys.insert(std::move(key));
}

const std::string *HeldOutKeys::find(const Task &task) const {
  for (const std::string &key : contractionKeys(task))
    if (auto found = keys.find(key); found != keys.end())
      return &*found;
  return nullptr;
}

Status tlm::refuseHeldOut(const HeldOutKeys &heldOut,
                          const std::vector<Task> &training) {
  for (const Task &task : training)
    if (const std::string *key = heldOut.find(task))
      return makeError("the task " + task.key() + " (" + task.label() +
                           ") may not be trained on: '" + *key +
                           "' is held out",
                       "take the tasks that tlm-sentences corpus writes");
  return success();
}
