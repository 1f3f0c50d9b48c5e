#include "model/Context.h"

#include <algorithm>

using namespace tlm;

namespace {

/// The attention keeps its spans on the stack.
constexpr int64_t kMaxAncestors = 16;

} // namespace

Context::Context(const ModelConfig &config,
                 std::shared_ptr<const Context> parent, int64_t capacity)
    : parent(std::move(parent)), layers(config.layers), width(config.width),
      headWidth(config.headWidth()),
      first(this->parent ? this->parent->end() : 0) {
  int64_t ancestors = 0;
  for (const Context *at = this; at; at = at->parent.get())
    ++ancestors;
  TLM_CHECK(ancestors <= kMaxAncestors) << ancestors << " ancestors";
  reserve(capacity);
}

void Context::reserve(int64_t rows) {
  if (rows <= capacity)
    return;
  int64_t before = capacity;
  std::vector<float> old = std::move(storage);
  capacity = (std::max(rows, 2 * before) + kLanes - 1) / kLanes * kLanes;
  storage.assign(size_t(2 * layers * width * capacity + kLanes), 0.0f);
  const float *from = old.data();
  for (int64_t layer = 0; layer < layers && before > 0; ++layer) {
    for (int64_t c = 0; c < width; ++c, from += before)
      std::copy_n(from, count, layerKeys(layer) + c * capacity);
    std::copy_n(from, count * width, layerValues(layer));
    from += before * width;
  }
}

void Context::extend(int64_t rows) {
  reserve(count + rows);
  count += rows;
}

void Context::write(int64_t layer, const float *keys, const float *values,
                    int64_t stride, int64_t rows) {
  float *to = layerKeys(layer) + (count - rows);
  for (int64_t c = 0; c < width; ++c, to += capacity)
    for (int64_t row = 0; row < rows; ++row)
      to[row] = keys[row * stride + c];
  to = layerValues(layer) + (count - rows) * width;
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(values + row * stride, width, to + row * width);
}

void Context::spans(int64_t layer, std::vector<AttentionSpan> &spans) const {
  spans.clear();
  for (const Context *at = this; at; at = at->parent.get()) {
    if (at->count == 0)
      continue;
    const float *keys = at->storage.data() + 2 * layer * width * at->capacity;
    spans.push_back(
        {keys, keys + width * at->capacity, at->capacity, width, at->count});
  }
  std::ranges::reverse(spans);
}

void Context::nextHead(std::vector<AttentionSpan> &spans) const {
  for (AttentionSpan &span : spans) {
    span.keys += headWidth * span.keyStride;
    span.values += headWidth;
  }
}
