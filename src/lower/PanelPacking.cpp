#include "lower/PanelPacking.h"

#include "base/Check.h"
#include "lower/Transpose.h"

#include <algorithm>
#include <vector>

using namespace tlm;

static void copyRows(LoopNest &nest, const PanelCopy &p) {
  int64_t pitch = p.vectors * p.lanes;
  std::string zero = nest.constant(0.0f, p.lanes);
  std::string d = nest.open("d", p.depth);
  for (int64_t c = p.columns / p.lanes * p.lanes; c < pitch; c += p.lanes)
    nest.store(zero, p.target, nest.index(c, {{p.targetAt, 1}, {d, pitch}}),
               p.lanes);
  for (int64_t c = 0, part; c < p.columns; c += part) {
    part = vectorPart(p.columns - c, p.lanes);
    int64_t width = part == 1 ? 0 : part;
    std::string x = nest.load(
        p.source, nest.index(c, {{p.sourceAt, 1}, {d, p.depthStride}}), width);
    nest.store(x, p.target, nest.index(c, {{p.targetAt, 1}, {d, pitch}}),
               width);
  }
  nest.close();
}

static void transposeBlocks(LoopNest &nest, const PanelCopy &p) {
  int64_t pitch = p.vectors * p.lanes;
  int64_t whole = p.depth / p.lanes * p.lanes;
  std::string zero = nest.constant(0.0f, p.lanes);
  if (whole) {
    std::string d = nest.open("d", 0, whole, p.lanes);
    std::string from = nest.index(0, {{p.sourceAt, 1}, {d, 1}});
    std::string to = nest.index(0, {{p.targetAt, 1}, {d, pitch}});
    for (int64_t c = 0; c < pitch; c += p.lanes) {
      std::vector<std::string> rows(size_t(p.lanes), zero);
      for (int64_t r = 0; r < std::min(p.lanes, p.columns - c); ++r)
        rows[size_t(r)] = nest.load(
            p.source, nest.index((c + r) * p.columnStride, {{from, 1}}),
            p.lanes);
      rows = transposeLanes(nest, std::move(rows));
      for (int64_t r = 0; r < p.lanes; ++r)
        nest.store(rows[size_t(r)], p.target,
                   nest.index(r * pitch + c, {{to, 1}}), p.lanes);
    }
    nest.close();
  }
  if (whole == p.depth)
    return;
  std::string d = nest.open("d", whole, p.depth);
  for (int64_t c = p.columns / p.lanes * p.lanes; c < pitch; c += p.lanes)
    nest.store(zero, p.target, nest.index(c, {{p.targetAt, 1}, {d, pitch}}),
               p.lanes);
  std::string c = nest.open("c", p.columns);
  std::string x = nest.load(
      p.source, nest.index(0, {{p.sourceAt, 1}, {d, 1}, {c, p.columnStride}}));
  nest.store(x, p.target, nest.index(0, {{p.targetAt, 1}, {d, pitch}, {c, 1}}));
  nest.close();
  nest.close();
}

void tlm::packPanel(LoopNest &nest, const PanelCopy &panel) {
  TLM_CHECK(panel.columnStride == 1 || panel.depthStride == 1)
      << panel.columnStride << " and " << panel.depthStride;
  if (panel.columnStride == 1)
    copyRows(nest, panel);
  else
    transposeBlocks(nest, panel);
}
