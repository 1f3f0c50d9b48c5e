#include "lower/Transpose.h"

#include "lower/Text.h"

using namespace tlm;

// Exchanges index bits between rows and lanes, one shuffle a row and bit.
std::vector<std::string> tlm::transposeLanes(LoopNest &nest,
                                             std::vector<std::string> v) {
  int64_t lanes = int64_t(v.size());
  std::string type = cat("vector<", lanes, "xf32>");
  for (int64_t bit = 1; bit < lanes; bit *= 2)
    for (int64_t r = 0; r < lanes; ++r) {
      if (r & bit)
        continue;
      std::vector<int64_t> low, high;
      for (int64_t c = 0; c < lanes; ++c) {
        low.push_back(c & bit ? lanes + c - bit : c);
        high.push_back(c & bit ? lanes + c : c + bit);
      }
      std::string a = v[size_t(r)], b = v[size_t(r | bit)];
      std::string x = nest.fresh("t"), y = nest.fresh("t");
      nest.raw(cat("    ", x, " = vector.shuffle ", a, ", ", b, " [",
                   join(low, ", "), "] : ", type, ", ", type, "\n    ", y,
                   " = vector.shuffle ", a, ", ", b, " [", join(high, ", "),
                   "] : ", type, ", ", type, "\n"));
      v[size_t(r)] = x;
      v[size_t(r | bit)] = y;
    }
  return v;
}

static std::string openBlocks(LoopNest &nest, const std::string &low,
                              const std::string &high, int64_t step) {
  std::string block = nest.fresh("block"), by = nest.index(step, {});
  nest.raw(
      cat("  scf.for ", block, " = ", low, " to ", high, " step ", by, " {\n"));
  return block;
}

void tlm::transposeMatrix(LoopNest &nest, const TransposedCopy &copy) {
  int64_t lanes = copy.lanes;
  auto wholeBlocks = [&](const std::string &low, const std::string &high) {
    return nest.affine(cat("d0 + ((d1 - d0) floordiv ", lanes, ") * ", lanes),
                       {low, high});
  };
  std::string endA = wholeBlocks(copy.lowA, copy.highA);
  std::string endB = wholeBlocks(copy.lowB, copy.highB);
  auto sourceIndex = [&](const std::string &a, const std::string &b) {
    return nest.index(0, {{copy.sourceAt, 1}, {a, copy.sourceStride}, {b, 1}});
  };
  auto targetIndex = [&](const std::string &a, const std::string &b) {
    return nest.index(0, {{copy.targetAt, 1}, {b, copy.targetStride}, {a, 1}});
  };
  auto elements = [&](const std::string &lowA, const std::string &highA,
                      const std::string &lowB, const std::string &highB) {
    std::string b = nest.openBetween("b", lowB, highB);
    std::string a = nest.openBetween("a", lowA, highA);
    nest.store(nest.load(copy.source, sourceIndex(a, b)), copy.target,
               targetIndex(a, b));
    nest.close();
    nest.close();
  };
  std::string a = openBlocks(nest, copy.lowA, endA, lanes);
  std::string b = openBlocks(nest, copy.lowB, endB, lanes);
  std::string from = sourceIndex(a, b), to = targetIndex(a, b);
  std::vector<std::string> rows;
  for (int64_t r = 0; r < lanes; ++r)
    rows.push_back(nest.load(
        copy.source, nest.index(r * copy.sourceStride, {{from, 1}}), lanes));
  rows = transposeLanes(nest, std::move(rows));
  for (int64_t r = 0; r < lanes; ++r)
    nest.store(rows[size_t(r)], copy.target,
               nest.index(r * copy.targetStride, {{to, 1}}), lanes);
  nest.close();
  elements(a, nest.index(lanes, {{a, 1}}), endB, copy.highB);
  nest.close();
  elements(endA, copy.highA, copy.lowB, copy.highB);
}
