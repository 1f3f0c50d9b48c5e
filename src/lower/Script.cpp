#include "lower/Script.h"

#include "lower/Text.h"

#include <algorithm>
#include <array>
#include <numeric>

using namespace tlm;

static const std::string kAny = "!transform.any_op";

static std::string anyTypes(size_t count) {
  return cat("(", join(std::vector<std::string>(count, kAny), ", "), ")");
}

std::string Script::fresh(const char *stem) {
  return cat("%", stem, "_", stage, "_", counter++);
}

std::string Script::match(const std::string &opName) {
  std::string name = fresh("match");
  ops += cat("  ", name, " = transform.structured.match ops{[\"", opName,
             "\"]} in ", function(), " : (", kAny, ") -> ", kAny, "\n");
  return name;
}

std::string Script::matchTag(const std::string &tag) {
  std::string name = fresh(tag.c_str());
  ops += cat("  ", name, " = transform.structured.match attributes{", tag,
             "} in ", function(), " : (", kAny, ") -> ", kAny, "\n");
  return name;
}

std::vector<std::string> Script::split(const std::string &handle, int parts) {
  std::vector<std::string> names;
  for (int i = 0; i < parts; ++i)
    names.push_back(fresh("part"));
  ops += cat("  ", join(names, ", "), " = transform.split_handle ", handle,
             " : (", kAny, ") -> ", anyTypes(names.size()), "\n");
  return names;
}

std::pair<std::string, std::string>
Script::splitLoop(const std::string &op, int dimension, int64_t point) {
  std::string both = fresh("both");
  ops += cat("  ", both, " = transform.structured.split ", op, " after ", point,
             " {dimension = ", dimension, "} : ", kAny, "\n");
  std::vector<std::string> parts = split(both, 2);
  return {parts[0], parts[1]};
}

void Script::fuse(const std::string &op, const std::vector<int64_t> &sizes,
                  const std::vector<int64_t> &order) {
  size_t loops = 0;
  for (int64_t size : sizes)
    loops += size != 0;
  ops += cat("  ", fresh("fused"), ", ", fresh("loops"), ":", loops,
             " = transform.structured.fuse ", op, " tile_sizes [",
             join(sizes, ", "), "] interchange [", join(order, ", "),
             "] {apply_cleanup} : (", kAny, ") -> ", anyTypes(loops + 1), "\n");
}

void Script::fuseTiles(const std::string &op, int64_t height,
                       const BalancedTiles &width, LoopOrder order,
                       size_t loops) {
  std::vector<int64_t> sizes(loops, 0), permutation(loops);
  std::iota(permutation.begin(), permutation.end(), 0);
  if (order == LoopOrder::PanelsOuter)
    std::rotate(permutation.begin(), permutation.begin() + 2,
                permutation.begin() + 3);
  else if (order == LoopOrder::RowsOuter)
    std::swap(permutation[1], permutation[2]);
  auto fuseWidth = [&](const std::string &part, int64_t pixels) {
    std::copy_n(std::array{height, pixels, int64_t(1)}.begin(), 3,
                sizes.begin());
    fuse(part, sizes, permutation);
  };
  if (!width.size2)
    return fuseWidth(op, width.size1);
  auto [left, right] = splitLoop(op, 1, width.size1 * width.count1);
  fuseWidth(left, width.size1);
  fuseWidth(right, width.size2);
}

std::string Script::tile(const std::string &op,
                         const std::vector<int64_t> &sizes) {
  size_t loops = 0;
  for (int64_t size : sizes)
    loops += size != 0;
  std::string name = fresh("tiled");
  ops +=
      cat("  ", name, ", ", fresh("loops"), ":", loops,
          " = transform.structured.tile_using_for ", op, " tile_sizes [",
          join(sizes, ", "), "] : (", kAny, ") -> ", anyTypes(loops + 1), "\n");
  return name;
}

void Script::clean(bool mergeSlices) {
  ops += cat("  transform.apply_patterns to ", function(), R"( {
    transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
    transform.apply_patterns.canonicalization
    transform.apply_patterns.linalg.tiling_canonicalization
    transform.apply_patterns.tensor.fold_tensor_empty
)",
             mergeSlices ? "    transform.apply_patterns.tensor.merge_"
                           "consecutive_insert_extract_slice\n"
                         : "",
             "  } : ", kAny, "\n  transform.apply_cse to ", function(), " : ",
             kAny, "\n");
}

void Script::vectorizeAndHoist(bool castLeadingUnitDims) {
  std::string generics = match("linalg.generic");
  ops +=
      cat("  transform.structured.vectorize ", generics, " : ", kAny, "\n",
          "  transform.apply_patterns to ", function(), " {\n",
          castLeadingUnitDims ? "    transform.apply_patterns.vector.cast_"
                                "away_vector_leading_one_dim\n"
                              : "",
          "    transform.apply_patterns.canonicalization\n  } : ", kAny, "\n");
  std::string loops = match("scf.for");
  ops +=
      cat("  transform.loop.hoist_loop_invariant_subsets ", loops, " : ", kAny,
          "\n  transform.apply_patterns to ", function(), R"( {
    transform.apply_patterns.canonicalization
    transform.apply_patterns.tensor.fold_tensor_empty
  } : )",
          kAny, "\n  transform.apply_cse to ", function(), " : ", kAny, "\n");
}

void Script::unrollInnermost(int64_t factor) {
  std::string loops = match("scf.for");
  std::string inner = fresh("inner"), rest = fresh("rest");
  ops += cat("  ", inner, ", ", rest, " = transform.split_handle ", loops,
             " {overflow_result = 1} : (", kAny, ") -> ", anyTypes(2), "\n",
             "  transform.loop.unroll ", inner, " {factor = ", factor,
             "} : ", kAny, "\n");
}
