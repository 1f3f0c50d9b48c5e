// Two operands of f32 become a batched matrix product: labels that both have
// and the result keeps are the batch, those it drops are summed, the others are
// rows and columns. Everything else is one expression over all labels.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Rearrange.h"
#include "import/ops/Reducing.h"

#include <algorithm>
#include <cctype>
#include <map>

using namespace tlm;

namespace {

/// Labels of one operand's dims; those of an ellipsis are capital numbers from
/// kEllipsis on, counted from its end.
using Labels = std::vector<int>;
constexpr int kEllipsis = 1000;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
  std::map<int, int64_t> extents;
};

Result<Labels> parseLabels(const std::string &text, int64_t ellipsisRank) {
  Labels labels;
  bool open = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0 && !open) {
      open = true;
      for (int64_t k = ellipsisRank; k-- > 0;)
        labels.push_back(kEllipsis + int(k));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else {
      return makeError("equation part '" + text + "'");
    }
  }
  return labels;
}

int64_t plainLabels(const std::string &text) {
  return std::ranges::count_if(
      text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// Without "->" the result has the labels that occur once, sorted, behind the
/// ellipsis.
Labels implicitResult(const std::vector<Labels> &operands, int64_t rank) {
  std::map<int, int> counts;
  for (const Labels &labels : operands)
    for (int label : labels)
      ++counts[label];
  Labels result;
  for (int64_t k = rank; k-- > 0;)
    result.push_back(kEllipsis + int(k));
  for (auto [label, count] : counts)
    if (count == 1 && label < kEllipsis)
      result.push_back(label);
  return result;
}

Result<Equation> parseEquation(NodeImporter &node) {
  std::string text = node.stringAttribute("equation", "");
  std::erase(text, ' ');
  size_t arrow = text.find("->");
  auto parts = splitAtCommas(text.substr(0, arrow));
  if (parts.size() != node.inputCount())
    return makeError("equation '" + text + "' for " +
                     std::to_string(node.inputCount()) + " operands");
  Equation equation;
  int64_t widest = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Dims &dims = node.dims(node.input(i));
    int64_t rest = int64_t(dims.size()) - plainLabels(parts[i]);
    bool open = parts[i].find("...") != std::string::npos;
    if (rest < 0 || (!open && rest != 0))
      return makeError("equation part '" + parts[i] + "' for an operand " +
                       dimsText(dims));
    TLM_TRY(Labels labels, parseLabels(parts[i], rest));
    if (labels.size() != dims.size())
      return makeError("equation part '" + parts[i] + "'");
    widest = std::max(widest, open ? rest : 0);
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t &extent = equation.extents.emplace(labels[d], 1).first->second;
      if (extent != dims[d] && extent != 1 && dims[d] != 1)
        return makeError("dims of " + std::to_string(extent) + " and " +
                         std::to_string(dims[d]) + " share a label");
      extent = extent == 1 ? dims[d] : extent;
    }
    equation.operands.push_back(std::move(labels));
  }
  equation.result = implicitResult(equation.operands, widest);
  if (arrow != std::string::npos) {
    TLM_TRY(equation.result, parseLabels(text.substr(arrow + 2), widest));
  }
  for (size_t i = 0; i < equation.result.size(); ++i)
    if (!equation.extents.contains(equation.result[i]) ||
        std::count(equation.result.begin(), equation.result.end(),
                   equation.result[i]) != 1)
      return makeError("equation '" + text + "': the result");
  return equation;
}

bool has(const Labels &labels, int label) {
  return std::ranges::count(labels, label) != 0;
}

Result<ValueId> byExpression(NodeImporter &node, const Equation &equation) {
  Dims loops, reductions;
  std::map<int, size_t> loopOf, reductionOf;
  for (int label : equation.result) {
    loopOf[label] = loops.size();
    loops.push_back(equation.extents.at(label));
  }
  for (auto [label, extent] : equation.extents)
    if (!loopOf.contains(label)) {
      reductionOf[label] = reductions.size();
      reductions.push_back(extent);
    }
  Expression e(node, loops, reductions);
  Term product;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    std::vector<Term> at;
    for (size_t d = 0; d < equation.operands[i].size(); ++d) {
      int label = equation.operands[i][d];
      at.push_back(node.dims(node.input(i))[d] == 1 ? e.integer(0)
                   : loopOf.contains(label) ? e.loop(loopOf[label])
                                            : e.reduction(reductionOf[label]));
    }
    Term term = e.load(node.input(i), at);
    if (i > 0 && term.dtype() != product.dtype())
      return makeError("operands of several types");
    product = i == 0 ? term : product * term;
  }
  return e.emit(reductions.empty() ? product : e.reduce(product, Combine::Sum));
}

/// x with its dims in the order of `wanted`.
Result<ValueId> arrange(NodeImporter &node, ValueId x, const Labels &labels,
                        const Labels &wanted) {
  std::vector<int64_t> order;
  for (int label : wanted)
    order.push_back(std::ranges::find(labels, label) - labels.begin());
  return emitTranspose(node, x, order);
}

int64_t extentOf(const Equation &equation, const Labels &labels) {
  int64_t count = 1;
  for (int label : labels)
    count *= equation.extents.at(label);
  return count;
}

/// Whether every dim has its label's extent, each label once, and those only
/// one operand has are in the result.
bool isMatrixProduct(NodeImporter &node, const Equation &equation) {
  if (equation.operands.size() != 2)
    return false;
  for (size_t i = 0; i < 2; ++i) {
    if (node.dtype(node.input(i)) != DType::F32)
      return false;
    const Labels &labels = equation.operands[i];
    for (size_t d = 0; d < labels.size(); ++d)
      if (std::ranges::count(labels, labels[d]) != 1 ||
          node.dims(node.input(i))[d] != equation.extents.at(labels[d]) ||
          (!has(equation.operands[1 - i], labels[d]) &&
           !has(equation.result, labels[d])))
        return false;
  }
  return true;
}

Result<ValueId> byMatMul(NodeImporter &node, const Equation &equation) {
  const Labels &a = equation.operands[0], &b = equation.operands[1];
  Labels batch, rows, columns, inner;
  for (int label : a)
    (!has(b, label)                ? rows
     : has(equation.result, label) ? batch
                                   : inner)
        .push_back(label);
  for (int label : b)
    if (!has(a, label))
      columns.push_back(label);
  auto joined = [](std::initializer_list<Labels> parts) {
    Labels all;
    for (const Labels &part : parts)
      all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  TLM_TRY(ValueId left,
          arrange(node, node.input(0), a, joined({batch, rows, inner})));
  TLM_TRY(ValueId right,
          arrange(node, node.input(1), b, joined({batch, inner, columns})));
  auto size = [&](const Labels &labels) { return extentOf(equation, labels); };
  Dims lead;
  if (!batch.empty())
    lead = {size(batch)};
  auto matrix = [&](int64_t m, int64_t n) {
    Dims dims = lead;
    dims.insert(dims.end(), {m, n});
    return dims;
  };
  TLM_TRY(left, node.reshape(left, matrix(size(rows), size(inner))));
  TLM_TRY(right, node.reshape(right, matrix(size(inner), size(columns))));
  TLM_TRY(ValueId product, node.emit(Op::MatMul, {left, right}));
  Labels order = joined({batch, rows, columns});
  Dims dims;
  for (int label : order)
    dims.push_back(equation.extents.at(label));
  TLM_TRY(product, node.reshape(product, dims));
  return arrange(node, product, order, equation.result);
}

} // namespace

Status tlm::importEinsum(NodeImporter &node) {
  TLM_TRY(Equation equation, parseEquation(node));
  if (node.dtype(node.input(0)) == DType::Bool)
    return node.unsupported("type bool");
  return node.bind(isMatrixProduct(node, equation)
                       ? byMatMul(node, equation)
                       : byExpression(node, equation));
}
