//===- Context.h - what a model has read so far -----------------*- C++ -*-===//
//
// The keys and values of the tokens [begin, end) of a sentence; those before
// `begin` stand in the parent. Many sentences share a beginning, and its keys
// and values are computed and stored once:
//
//   hardware tokens            one for all tasks
//     task A  task B ...       one for all answers
//       [Q k] [ANS] answer     one for each
//
// Keys lie with positions side by side, as the scores of one query are computed
// for 16 positions at a time; values lie position by position.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_CONTEXT_H
#define TLM_MODEL_CONTEXT_H

#include "model/Kernels.h"
#include "model/ModelConfig.h"

#include <memory>
#include <vector>

namespace tlm {

class Context {
public:
  /// Room for `capacity` tokens after those of `parent`, which may be null; it
  /// grows when it has to.
  Context(const ModelConfig &config, std::shared_ptr<const Context> parent,
          int64_t capacity);

  int64_t begin() const { return first; }
  int64_t end() const { return first + count; }

  /// Appends `rows` tokens whose keys and values `write` will bring.
  void extend(int64_t rows);
  /// Of one layer, for the last `rows` tokens: keys and values are (rows, C).
  void write(int64_t layer, const float *keys, const float *values,
             int64_t stride, int64_t rows);

  /// One span for every ancestor that has tokens, this one last, for head 0 of
  /// a layer.
  void spans(int64_t layer, std::vector<AttentionSpan> &spans) const;
  /// The same spans, for the next head.
  void nextHead(std::vector<AttentionSpan> &spans) const;

private:
  void reserve(int64_t rows);
  float *layerKeys(int64_t layer) {
    return storage.data() + 2 * layer * width * capacity;
  }
  float *layerValues(int64_t layer) {
    return layerKeys(layer) + width * capacity;
  }

  std::shared_ptr<const Context> parent;
  int64_t layers, width, headWidth;
  int64_t first;
  int64_t count = 0;
  int64_t capacity = 0; ///< a multiple of 16
  /// Per layer (C, capacity) keys and (capacity, C) values, and 16 more.
  std::vector<float> storage;
};

} // namespace tlm

#endif // TLM_MODEL_CONTEXT_H
