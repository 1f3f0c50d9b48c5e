//===- ContractionKey.h - what may not be trained on ------------*- C++ -*-===//
//
// Networks share contractions, so what a model is judged by is kept out of
// training by contraction, wherever it occurs: loop extents, access pattern and
// element type, without epilogue, padding, layout and what stands around it.
//
//   f32 matmul b1 m3136 n64 k64
//   f32 conv n1 g1 f64 c64 out56x56 kernel3x3 stride1x1 dilation1x1
//
// The same loops in another dress have the same key: a 1x1 convolution is the
// product of its pixels, an attention is its two products.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_CONTRACTIONKEY_H
#define TLM_TRAIN_CONTRACTIONKEY_H

#include "base/Result.h"
#include "task/Task.h"

#include <set>
#include <string>
#include <vector>

namespace tlm {

/// Empty for what contracts nothing: pooling, softmax, copies, ...
std::vector<std::string> contractionKeys(const Task &task);

/// The keys that are held out: a text file, sorted, a key a line.
class HeldOutKeys {
public:
  static Result<HeldOutKeys> read(const std::string &path);
  Status write(const std::string &path) const;

  void add(const Task &task);
  /// A key of the task that is held out, or null.
  const std::string *find(const Task &task) const;
  size_t size() const { return keys.size(); }

private:
  std::set<std::string> keys;
};

/// Names the first task with a key that is held out, and the key.
Status refuseHeldOut(const HeldOutKeys &heldOut,
                     const std::vector<Task> &training);

} // namespace tlm

#endif // TLM_TRAIN_CONTRACTIONKEY_H
