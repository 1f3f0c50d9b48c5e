#include "graph/Passes.h"
#include "graph/Uses.h"

#include <cstring>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

using namespace tlm;

void tlm::mergeConstants(Graph &graph) {
  // Equal ends are a cheap sign of equal bytes; only then all are compared.
  using Key = std::tuple<DType, Dims, std::string_view, std::string_view>;
  std::multimap<Key, ValueId> seen;
  std::vector<ValueId> replacement(graph.values.size());
  std::iota(replacement.begin(), replacement.end(), 0);
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const Value &value = graph.values[id];
    if (!value.isConstant())
      continue;
    std::string_view bytes(reinterpret_cast<const char *>(value.constant.data),
                           value.constant.sizeBytes);
    size_t end = bytes.size() < 64 ? bytes.size() : 64;
    Key key{value.dtype, value.dims, bytes.substr(0, end),
            bytes.substr(bytes.size() - end)};
    bool merged = false;
    for (auto [it, last] = seen.equal_range(key); it != last && !merged; ++it) {
      const Constant &other = graph.value(it->second).constant;
      merged = std::memcmp(other.data, bytes.data(), bytes.size()) == 0;
      if (merged)
        replacement[id] = it->second;
    }
    if (!merged)
      seen.emplace(std::move(key), ValueId(id));
  }
  replaceReads(graph, replacement);
}
