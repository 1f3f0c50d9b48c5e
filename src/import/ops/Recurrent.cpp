// RNN, GRU and LSTM, step by step: one product for the inputs of all steps,
// then for each step one with the state and pointwise operators.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"
#include "import/ops/Rearrange.h"

#include <algorithm>
#include <cctype>

using namespace tlm;

namespace {

/// Steps a sequence may have: each becomes nodes.
constexpr int64_t kMaxSteps = 256;

/// The gates of one step; functions are f, g and h of ONNX's text.
class Cell {
public:
  explicit Cell(NodeImporter &node) : node(&node) {}

  int64_t gates = 1, hidden = 0, batch = 0;
  std::vector<Op> functions;
  ValueId recurrent = kNoValue; ///< [hidden, gates * hidden]
  ValueId recurrentBias = kNoValue;
  ValueId peephole = kNoValue;
  bool linearBeforeReset = false;
  ValueId h = kNoValue, c = kNoValue;

  Result<ValueId> add(ValueId a, ValueId b) {
    return node->emit(Op::Add, {a, b});
  }
  Result<ValueId> times(ValueId a, ValueId b) {
    return node->emit(Op::Mul, {a, b});
  }
  Result<ValueId> act(size_t which, ValueId x) {
    return node->emit(functions[which], {x});
  }
  /// Gates [first, first + count) of x [batch, gates * hidden].
  Result<ValueId> gate(ValueId x, int64_t first, int64_t count = 1) {
    return emitSlice(*node, x, node->dims(x).size() - 1, first * hidden,
                     count * hidden);
  }
  /// a = a + b, when b is there.
  Status accumulate(ValueId &a, const Result<ValueId> &b) {
    if (!b)
      return b.error();
    TLM_TRY(a, add(a, *b));
    return success();
  }
  Result<ValueId> part(ValueId parameter, int64_t direction) {
    Dims dims = node->dims(parameter);
    dims.erase(dims.begin());
    TLM_TRY(ValueId slice, emitSlice(*node, parameter, 0, direction, 1));
    return node->reshape(slice, dims);
  }

  /// Takes the inputs' share [batch, gates * hidden] of one step.
  Status step(ValueId input) {
    if (gates == 1)
      return stepPlain(input);
    return gates == 3 ? stepGru(input) : stepLstm(input);
  }

private:
  Status stepPlain(ValueId input) {
    TLM_TRY_STATUS(accumulate(input, node->emit(Op::MatMul, {h, recurrent})));
    TLM_TRY(h, act(0, input));
    return success();
  }

  /// Gates z, r, h.
  Status stepGru(ValueId input) {
    TLM_TRY(ValueId outer, gate(recurrent, 0, 2));
    TLM_TRY(ValueId inner, gate(recurrent, 2));
    TLM_TRY(ValueId both, gate(input, 0, 2));
    TLM_TRY_STATUS(accumulate(both, node->emit(Op::MatMul, {h, outer})));
    TLM_TRY(both, act(0, both));
    TLM_TRY(ValueId z, gate(both, 0));
    TLM_TRY(ValueId r, gate(both, 1));
    TLM_TRY(ValueId own, gate(input, 2));
    ValueId reset = h;
    if (!linearBeforeReset) {
      TLM_TRY(reset, times(r, h));
    }
    TLM_TRY(ValueId state, node->emit(Op::MatMul, {reset, inner}));
    if (recurrentBias != kNoValue) {
      TLM_TRY(state, add(state, recurrentBias));
    }
    if (linearBeforeReset) {
      TLM_TRY(state, times(r, state));
    }
    TLM_TRY(own, add(own, state));
    TLM_TRY(own, act(1, own));
    // (1 - z) * own + z * h = own + z * (h - own)
    TLM_TRY(ValueId difference, node->emit(Op::Sub, {h, own}));
    TLM_TRY(ValueId share, times(z, difference));
    TLM_TRY(h, add(own, share));
    return success();
  }

  /// What the cell adds to a gate; peepholes are i, o, f.
  Status peep(ValueId &x, int64_t which) {
    if (peephole == kNoValue)
      return success();
    TLM_TRY(ValueId weights, gate(peephole, which));
    return accumulate(x, times(weights, c));
  }

  /// Gates i, o, f, c.
  Status stepLstm(ValueId input) {
    TLM_TRY_STATUS(accumulate(input, node->emit(Op::MatMul, {h, recurrent})));
    TLM_TRY(ValueId i, gate(input, 0));
    TLM_TRY(ValueId o, gate(input, 1));
    TLM_TRY(ValueId f, gate(input, 2));
    TLM_TRY(ValueId g, gate(input, 3));
    TLM_TRY_STATUS(peep(i, 0));
    TLM_TRY_STATUS(peep(f, 2));
    TLM_TRY(i, act(0, i));
    TLM_TRY(f, act(0, f));
    TLM_TRY(g, act(1, g));
    TLM_TRY(ValueId kept, times(f, c));
    TLM_TRY(ValueId entered, times(i, g));
    TLM_TRY(c, add(kept, entered));
    TLM_TRY_STATUS(peep(o, 1));
    TLM_TRY(o, act(0, o));
    TLM_TRY(ValueId shown, act(2, c));
    TLM_TRY(h, times(o, shown));
    return success();
  }

  NodeImporter *node;
};

/// The operator as a whole.
class Recurrence {
public:
  explicit Recurrence(NodeImporter &node) : node(node) {
    gates = node.opType() == "RNN" ? 1 : node.opType() == "GRU" ? 3 : 4;
  }

  Status run() {
    TLM_TRY_STATUS(readOperands());
    std::string mode = node.stringAttribute("direction", "forward");
    if (mode != "forward" && mode != "reverse" && mode != "bidirectional")
      return makeError("direction '" + mode + "'");
    if (directions != (mode == "bidirectional" ? 2 : 1))
      return makeError("direction '" + mode + "' with weights " +
                       dimsText(node.dims(node.input(1))));
    std::vector<ValueId> all, lastH, lastC;
    for (int64_t d = 0; d < directions; ++d) {
      TLM_TRY(Cell cell, makeCell(d));
      TLM_TRY(ValueId outputs, runDirection(cell, d, mode == "reverse" || d));
      all.push_back(outputs);
      TLM_TRY(ValueId h, node.reshape(cell.h, {1, batch, hidden}));
      lastH.push_back(h);
      if (gates == 4) {
        TLM_TRY(ValueId c, node.reshape(cell.c, {1, batch, hidden}));
        lastC.push_back(c);
      }
    }
    TLM_TRY_STATUS(bindPart(0, all, 1));
    TLM_TRY_STATUS(bindPart(1, lastH, 0));
    return gates == 4 ? bindPart(2, lastC, 0) : success();
  }

private:
  Status readOperands() {
    x = node.input(0);
    batchFirst = node.intAttribute("layout", 0) != 0;
    if (node.rank(x) != 3 || node.rank(node.input(1)) != 3 ||
        node.rank(node.input(2)) != 3)
      return makeError("X, W and R must have rank 3");
    if (batchFirst) {
      TLM_TRY(x, emitTranspose(node, x, {1, 0, 2}));
    }
    steps = node.dims(x)[0];
    batch = node.dims(x)[1];
    width = node.dims(x)[2];
    directions = node.dims(node.input(1))[0];
    hidden = node.dims(node.input(2))[2];
    if (node.dims(node.input(1)) != Dims{directions, gates * hidden, width} ||
        node.dims(node.input(2)) != Dims{directions, gates * hidden, hidden} ||
        hidden < 1)
      return makeError("W " + dimsText(node.dims(node.input(1))) + " and R " +
                       dimsText(node.dims(node.input(2))) + " do not fit X " +
                       dimsText(node.dims(node.input(0))));
    if (steps < 1 || steps > kMaxSteps)
      return node.unsupported(std::to_string(steps) + " steps");
    if (node.hasAttribute("clip"))
      return node.unsupported("clip");
    if (node.intAttribute("input_forget", 0) != 0)
      return node.unsupported("input_forget=1");
    if (node.hasInput(4)) {
      if (!node.value(node.input(4)).isConstant())
        return node.unsupported("sequence_lens that are computed from data");
      TLM_TRY(auto lengths, node.constantInts(4));
      if (std::ranges::count(lengths, steps) != int64_t(lengths.size()))
        return node.unsupported("sequences of different lengths");
    }
    TLM_TRY_STATUS(checkState(3, {directions, 2 * gates * hidden}));
    TLM_TRY_STATUS(checkState(5, stateDims()));
    if (gates != 4)
      return success();
    TLM_TRY_STATUS(checkState(6, stateDims()));
    return checkState(7, {directions, 3 * hidden});
  }

  Dims stateDims() const {
    return batchFirst ? Dims{batch, directions, hidden}
                      : Dims{directions, batch, hidden};
  }

  Status checkState(size_t i, const Dims &dims) {
    if (node.hasInput(i) && node.dims(node.input(i)) != dims)
      return makeError("input " + std::to_string(i) + " is " +
                       dimsText(node.dims(node.input(i))) + "; " +
                       dimsText(dims) + " is needed");
    return success();
  }

  Result<std::vector<Op>> functionsOf(int64_t direction) {
    std::vector<std::string> names = node.stringsAttribute("activations");
    size_t count = gates == 1 ? 1 : gates == 3 ? 2 : 3;
    if (names.empty())
      return gates == 1   ? std::vector<Op>{Op::Tanh}
             : gates == 3 ? std::vector<Op>{Op::Sigmoid, Op::Tanh}
                          : std::vector<Op>{Op::Sigmoid, Op::Tanh, Op::Tanh};
    if (names.size() != count * size_t(directions))
      return makeError(std::to_string(names.size()) + " activations");
    std::vector<Op> functions;
    for (size_t i = 0; i < count; ++i) {
      std::string name = names[size_t(direction) * count + i];
      std::ranges::transform(name, name.begin(), [](unsigned char c) {
        return char(std::tolower(c));
      });
      if (name != "sigmoid" && name != "tanh" && name != "relu")
        return node.unsupported("activation " + name);
      functions.push_back(name == "sigmoid" ? Op::Sigmoid
                          : name == "tanh"  ? Op::Tanh
                                            : Op::Relu);
    }
    return functions;
  }

  Result<ValueId> zeros(const Dims &dims) {
    return emitExpand(node, emitScalar(node, 0), dims);
  }

  /// The state a direction starts with.
  Result<ValueId> initial(Cell &cell, size_t i, int64_t direction) {
    if (!node.hasInput(i))
      return zeros({batch, hidden});
    ValueId state = node.input(i);
    if (batchFirst) {
      TLM_TRY(state, emitTranspose(node, state, {1, 0, 2}));
    }
    return cell.part(state, direction);
  }

  Result<Cell> makeCell(int64_t direction) {
    Cell cell(node);
    cell.gates = gates;
    cell.hidden = hidden;
    cell.batch = batch;
    cell.linearBeforeReset = node.intAttribute("linear_before_reset", 0) != 0;
    TLM_TRY(cell.functions, functionsOf(direction));
    TLM_TRY(ValueId recurrent, cell.part(node.input(2), direction));
    TLM_TRY(cell.recurrent, emitTranspose(node, recurrent, {1, 0}));
    TLM_TRY(cell.h, initial(cell, 5, direction));
    if (gates != 4)
      return cell;
    TLM_TRY(cell.c, initial(cell, 6, direction));
    if (node.hasInput(7)) {
      TLM_TRY(cell.peephole, cell.part(node.input(7), direction));
    }
    return cell;
  }

  /// The inputs' share of all steps [steps, batch, gates * hidden], biases
  /// included; GRU keeps the last gate's recurrent bias apart.
  Result<ValueId> shares(Cell &cell, int64_t direction) {
    TLM_TRY(ValueId weights, cell.part(node.input(1), direction));
    TLM_TRY(weights, emitTranspose(node, weights, {1, 0}));
    TLM_TRY(ValueId rows, node.reshape(x, {steps * batch, width}));
    TLM_TRY(ValueId share, node.emit(Op::MatMul, {rows, weights}));
    if (node.hasInput(3)) {
      TLM_TRY(ValueId biases, cell.part(node.input(3), direction));
      TLM_TRY(ValueId bias, cell.gate(biases, 0, gates));
      TLM_TRY(ValueId other, cell.gate(biases, gates, gates));
      if (gates == 3) {
        TLM_TRY(cell.recurrentBias, cell.gate(other, 2));
        TLM_TRY(ValueId outer, cell.gate(other, 0, 2));
        TLM_TRY(ValueId none, zeros({hidden}));
        TLM_TRY(other, emitConcat(node, {outer, none}, 0));
      }
      TLM_TRY(bias, cell.add(bias, other));
      TLM_TRY(share, cell.add(share, bias));
    }
    return node.reshape(share, {steps, batch, gates * hidden});
  }

  /// The outputs [steps, 1, batch, hidden] of one direction.
  Result<ValueId> runDirection(Cell &cell, int64_t direction, bool reverse) {
    TLM_TRY(ValueId share, shares(cell, direction));
    std::vector<ValueId> outputs(size_t(steps), kNoValue);
    for (int64_t i = 0; i < steps; ++i) {
      int64_t at = reverse ? steps - 1 - i : i;
      TLM_TRY(ValueId slice, emitSlice(node, share, 0, at, 1));
      TLM_TRY(slice, node.reshape(slice, {batch, gates * hidden}));
      TLM_TRY_STATUS(cell.step(slice));
      TLM_TRY(outputs[size_t(at)], node.reshape(cell.h, {1, 1, batch, hidden}));
    }
    return emitConcat(node, outputs, 0);
  }

  Status bindPart(size_t output, const std::vector<ValueId> &parts,
                  int64_t axis) {
    if (!node.wantsOutput(output))
      return success();
    TLM_TRY(ValueId joined, emitConcat(node, parts, axis));
    if (batchFirst) {
      std::vector<int64_t> order = output == 0
                                       ? std::vector<int64_t>{2, 0, 1, 3}
                                       : std::vector<int64_t>{1, 0, 2};
      TLM_TRY(joined, emitTranspose(node, joined, order));
    }
    return node.bind(joined, output);
  }

  NodeImporter &node;
  int64_t gates, steps = 0, batch = 0, width = 0, directions = 0, hidden = 0;
  ValueId x = kNoValue;
  bool batchFirst = false;
};

} // namespace

Status tlm::importRecurrent(NodeImporter &node) {
  for (ValueId id : {node.input(0), node.input(1), node.input(2)})
    if (node.dtype(id) != DType::F32)
      return node.unsupported("type " + std::string(nameOf(node.dtype(id))));
  return Recurrence(node).run();
}
