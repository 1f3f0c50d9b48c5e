//===- LoopNest.h - loops as written ----------------------------*- C++ -*-===//
//
// Emits scf.for nests over flat memrefs, for templates and stages that need no
// transform script: data movement, transforms, the plain path.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_LOOPNEST_H
#define TLM_LOWER_LOOPNEST_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tlm {

/// The largest part of `columns` columns that is one value of `lanes` lanes or
/// a smaller power of two; 1 stands for a scalar.
int64_t vectorPart(int64_t columns, int64_t lanes);

class LoopNest {
public:
  /// Value names carry `prefix`: several nests can share a function.
  explicit LoopNest(std::string prefix = "") : prefix(std::move(prefix)) {}

  /// A flat argument: name, elements behind it and their MLIR type.
  struct Array {
    std::string name;
    int64_t floats = 0;
    std::string type = "f32";
  };
  /// Sum of variable * coefficient.
  using Index = std::vector<std::pair<std::string, int64_t>>;

  /// Opens `for name in [0, extent)` (or [from, to)) and returns "%name".
  std::string open(const std::string &name, int64_t extent);
  std::string open(const std::string &name, int64_t from, int64_t to,
                   int64_t step = 1);
  /// The same between index values.
  std::string openBetween(const std::string &name, const std::string &from,
                          const std::string &to);
  void close();
  /// Opens `for name in [0, extent)` that hands `values`, all of one MLIR type,
  /// from step to step: they are the step's own afterwards. closeCarrying ends
  /// it with the values of a step; they are the loop's results afterwards.
  std::string openCarrying(const std::string &name, int64_t extent,
                           std::vector<std::string> &values,
                           const std::string &type);
  void closeCarrying(std::vector<std::string> &values, const std::string &type);

  /// An index value: base + sum of the terms.
  std::string index(int64_t base, const Index &terms);
  /// An index value from an affine expression of d0.. = `operands`.
  std::string affine(const std::string &expression,
                     const std::vector<std::string> &operands);
  /// lanes == 0: a scalar.
  std::string load(const Array &array, const std::string &at,
                   int64_t lanes = 0);
  void store(const std::string &value, const Array &array,
             const std::string &at, int64_t lanes = 0);
  /// The same of the first `count` lanes of a vector: others are `otherwise`
  /// (a vector) or not stored, and their memory is not touched. In parts that
  /// are powers of two: as fast as masks or faster, on every processor.
  std::string loadFirst(const Array &array, const std::string &at,
                        int64_t lanes, int64_t count,
                        const std::string &otherwise);
  void storeFirst(const std::string &value, const Array &array,
                  const std::string &at, int64_t lanes, int64_t count);
  /// A vector<lanes x i1> that is true in the first `count` lanes.
  std::string firstLanes(int64_t count, int64_t lanes);
  std::string constant(float value, int64_t lanes = 0);
  std::string fresh(const char *stem = "v");
  /// Operations in front of the loops, such as another emitter's constants.
  void prepend(const std::string &ops) { header = ops + header; }
  /// Appends ready-made operations.
  void raw(const std::string &ops) { body += ops; }

  /// Constants first, then the loops.
  std::string text() const { return header + body; }

private:
  std::string indexConstant(int64_t value);

  std::string prefix, header, body;
  std::vector<std::string> carried; ///< results of the open loops
  std::vector<std::pair<int64_t, std::string>> indexConstants;
  int counter = 0;
};

} // namespace tlm

#endif // TLM_LOWER_LOOPNEST_H
