//===- BoostedTrees.h - regression by gradient-boosted trees ----*- C++ -*-===//
//
// XGBoost, as far as the models of schedules need it. One thread: the same rows
// give the same trees. NaN is a value that does not apply; columns in which all
// rows agree are left out.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_BOOSTEDTREES_H
#define TLM_SEARCH_BOOSTEDTREES_H

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tlm {

class BoostedTrees {
public:
  using Rows = std::vector<const std::vector<float> *>;
  struct Options {
    int rounds = 40;
    /// By XGBoost's names.
    std::vector<std::pair<std::string, std::string>> parameters;
  };

  /// Rows of equal length, with a label and a weight each; no trees where no
  /// column says anything.
  static BoostedTrees fit(const Rows &rows, const std::vector<float> &labels,
                          const std::vector<float> &weights,
                          const Options &options);
  BoostedTrees();
  ~BoostedTrees();
  BoostedTrees(BoostedTrees &&) noexcept;
  BoostedTrees &operator=(BoostedTrees &&) noexcept;

  explicit operator bool() const { return booster != nullptr; }
  /// Rows as long as those it was fitted to.
  std::vector<float> predict(const Rows &rows) const;

private:
  struct Booster;
  std::unique_ptr<Booster> booster;
  std::vector<size_t> columns; ///< those that differ among the rows
};

} // namespace tlm

#endif // TLM_SEARCH_BOOSTEDTREES_H
