//===- Borders.h - the forms in which a value is kept -----------*- C++ -*-===//
//
// Consumers say what they need of a value; the forms are the buffer types that
// serve all of them. The first form is the value's home, written by its
// producer with the widest border any consumer reads. What the home cannot
// serve (another layout, another border value, a border around user memory)
// are further forms, each one Copy.
//
// Convolutions and average pools read a border of 0. A max-pool reads -inf,
// or 0 where the values cannot be negative: every pooling window covers at
// least one element of the input (inferShape refuses others, the overhang of
// ceil_mode included), and next to an element >= 0 a 0 does not change the
// maximum. NaN stays NaN.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_PARTITION_BORDERS_H
#define TLM_PARTITION_BORDERS_H

#include "partition/Layouts.h"
#include "partition/Plan.h"

namespace tlm {

/// What a consumer accepts.
struct Need {
  bool anyLayout = false;
  Layout layout = Layout::Plain;
  /// Dense memory: no border.
  bool dense = false;
  /// At least as wide, of the same value. Empty: any border will do.
  Border border = {};
};

bool serves(const BufferType &form, const Need &need);

class Borders {
public:
  Borders(const Graph &graph, const std::vector<Group> &groups,
          const Layouts &layouts, const PartitionOptions &options);

  /// What the group needs of its inputs[index].
  Need inputNeed(const Group &group, size_t index) const;
  /// What it needs of its InputScale.
  Need scaleNeed() const { return {.dense = true}; }
  /// What it needs of an Extra.
  Need extraNeed(const Group &group, ValueId value) const;

  /// [0] is the home.
  const std::vector<BufferType> &formsOf(ValueId value) const {
    return forms[size_t(value)];
  }

private:
  BufferType typeOf(ValueId value, Layout layout, const Border &border) const;
  bool neverNegative(ValueId value) const;
  void place(ValueId value, const std::vector<Need> &needs, bool mayBorder);

  const Graph &graph;
  const Layouts &layouts;
  int64_t vectorFloats;
  std::vector<int32_t> producer; ///< node per value, or -1
  std::vector<std::vector<BufferType>> forms;
};

} // namespace tlm

#endif // TLM_PARTITION_BORDERS_H
