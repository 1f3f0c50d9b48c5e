//===- Computation.h - a scalar expression over loops -----------*- C++ -*-===//
//
// How every operator that needs no speed of its own is written: the value of
// one output element as an expression of the loop indices. One importer
// function per ONNX operator builds it, one interpreter evaluates it, one
// template compiles it, so an operator more costs no kernel more. The idea is
// that of tensor expressions (Halide's Func, TVM's te.compute).
//
//   out[i0, ..., in] = f(i0, ..., in)                    without reductions
//   out[i0, ..., in] = g(i.., reduce over r0.. of f(i.., r..))
//
// A worked example, Gather along axis 0 of data[V,C] with indices[N] (i64,
// negative ones count from the end):
//
//   loops [N, C]
//   %0 = loop 0          %1 = loop 1
//   %2 = load 1 [%0]                 indices[n]
//   %3 = const i64 0     %4 = lt %2 %3
//   %5 = const i64 V     %6 = add %2 %5
//   %7 = select %4 %6 %2
//   %8 = load 0 [%7, %1]             the result
//
// Nodes are in SSA form and in order. Nodes that depend on a reduction loop are
// evaluated inside it; at most one node is a Reduce, and nodes that use its
// result are evaluated once per output element. A load whose index is outside
// the operand is clamped to it (never a wild read): importers that need padding
// select around the load.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_BASE_COMPUTATION_H
#define TLM_BASE_COMPUTATION_H

#include "base/DType.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tlm {

enum class Scalar : int32_t {
#define TLM_SCALAR(id, name, text, arguments) name = id,
#include "base/ScalarOps.def"
};
std::string_view nameOf(Scalar op);

/// How a Reduce combines values. Ids are append-only.
enum class Combine : int32_t {
  Sum = 0,
  Product = 1,
  Min = 2,
  Max = 3,
  And = 4,
  Or = 5,
  /// i64: position (row-major over the reduction loops) of the extreme value;
  /// the first one, or the last one.
  ArgMinFirst = 6,
  ArgMinLast = 7,
  ArgMaxFirst = 8,
  ArgMaxLast = 9,
};
std::string_view nameOf(Combine combine);

struct ScalarNode {
  Scalar op = Scalar::Constant;
  DType dtype = DType::F32; ///< of the value
  std::vector<int32_t> arguments;
  int32_t index = 0;   ///< Loop, Load
  double real = 0;     ///< Constant of a float dtype
  int64_t integer = 0; ///< Constant of any other dtype
  bool operator==(const ScalarNode &) const = default;
};

struct Computation {
  std::vector<int64_t> loops;      ///< extents of the output's dims
  std::vector<int64_t> reductions; ///< extents; empty without a Reduce
  Combine combine = Combine::Sum;
  std::vector<ScalarNode> nodes;
  int32_t result = -1;

  /// One line a node; part of a Task's canonical text.
  std::string text() const;
  /// What is broken, or empty: arguments before their use, counts and dtypes
  /// that fit, loads with one index a dim of `operandRanks`.
  std::string verify(const std::vector<DType> &operandTypes,
                     const std::vector<size_t> &operandRanks) const;
  bool operator==(const Computation &) const = default;
};

/// Builds a Computation: names for the common expressions. Integer arithmetic
/// on constants, additions of 0 and the like, comparisons that the loops'
/// extents decide, and nodes that are there already cost no node. finish drops
/// what the result does not need.
class ComputationBuilder {
public:
  using Node = int32_t;
  ComputationBuilder(std::vector<int64_t> loops,
                     std::vector<int64_t> reductions = {});

  Node loop(size_t i);      ///< parallel loop i
  Node reduction(size_t i); ///< reduction loop i
  Node integer(int64_t value, DType dtype = DType::I64);
  Node real(double value, DType dtype = DType::F32);
  /// The value 0 or 1 (or any integer) of whatever dtype.
  Node number(double value, DType dtype);
  Node load(int32_t operand, DType dtype, std::vector<Node> indices);
  Node op(Scalar op, std::vector<Node> arguments);
  Node cast(Node value, DType dtype);
  Node select(Node condition, Node a, Node b);
  Node reduce(Node value, Combine combine);
  DType dtypeOf(Node node) const;

  Computation finish(Node result);

private:
  struct Range {
    int64_t low = std::numeric_limits<int64_t>::min();
    int64_t high = std::numeric_limits<int64_t>::max();
  };
  Node append(ScalarNode node);
  Node simplify(Scalar op, const std::vector<Node> &arguments);
  Range rangeOf(const ScalarNode &node) const;
  /// The value of an integer or bool constant, else null.
  const int64_t *constantOf(Node node) const;

  Computation computation;
  std::vector<Range> ranges;                   ///< of each node
  std::unordered_multimap<size_t, Node> known; ///< by hash of the node
};

} // namespace tlm

#endif // TLM_BASE_COMPUTATION_H
