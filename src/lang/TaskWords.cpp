//===- TaskWords.cpp - words from the tables of tasks ---------------------===//

#include "lang/TaskSentence.h"

#include <array>

namespace tlm {
namespace {

template <typename E>
std::vector<E> upTo(E last) {
  std::vector<E> values;
  for (int i = 0; i <= int(last); ++i)
    values.push_back(E(i));
  return values;
}

std::vector<DType> allDTypes() {
  std::vector<DType> types;
  for (int i = 1; i <= int(DType::BF16); ++i)
    if (sizeOf(DType(i)))
      types.push_back(DType(i));
  return types;
}

/// Those that may stand in a task.
std::vector<Op> allOps() {
  constexpr std::array kOps = {
#define TLM_OP(id, name, text, pointwise) Op::name,
#include "base/Ops.def"
  };
  std::vector<Op> ops;
  for (Op op : kOps)
    if (isPointwise(op))
      ops.push_back(op);
  return ops;
}

std::vector<Scalar> allScalars() {
  return {
#define TLM_SCALAR(id, name, text, arguments) Scalar::name,
#include "base/ScalarOps.def"
  };
}

const std::vector<TaskKind> &valuesOf(TaskKind) {
  static const auto values = upTo(TaskKind::Attention);
  return values;
}
const std::vector<Role> &valuesOf(Role) {
  static const auto values = upTo(Role::Output);
  return values;
}
const std::vector<Layout> &valuesOf(Layout) {
  static const auto values = upTo(Layout::Nhwc);
  return values;
}
const std::vector<DType> &valuesOf(DType) {
  static const auto values = allDTypes();
  return values;
}
const std::vector<Op> &valuesOf(Op) {
  static const auto values = allOps();
  return values;
}
const std::vector<Scalar> &valuesOf(Scalar) {
  static const auto values = allScalars();
  return values;
}
const std::vector<Combine> &valuesOf(Combine) {
  static const auto values = upTo(Combine::ArgMaxLast);
  return values;
}
const std::vector<Norm> &valuesOf(Norm) {
  static const auto values = upTo(Norm::Rms);
  return values;
}

/// The value whose word this is, by token.
template <typename E>
const std::unordered_map<Token, E> &byToken() {
  static const std::unordered_map<Token, E> values = [] {
    std::unordered_map<Token, E> all;
    for (E value : valuesOf(E{}))
      all.emplace(Vocabulary::get().at(taskWord(value)), value);
    return all;
  }();
  return values;
}

template <typename E>
bool take(TokenReader &reader, E &value) {
  auto found = byToken<E>().find(reader.peek());
  if (found == byToken<E>().end())
    return false;
  value = found->second;
  reader.skip();
  return true;
}

template <typename E>
void addWords(std::vector<std::string> &words) {
  for (E value : valuesOf(E{}))
    words.push_back(taskWord(value));
}

} // namespace

std::string taskWord(TaskKind kind) { return std::string(nameOf(kind)); }
std::string taskWord(Role role) { return std::string(nameOf(role)); }
std::string taskWord(Layout layout) {
  return layout == Layout::Nhwc ? "nhwc" : "plain";
}
std::string taskWord(DType dtype) { return std::string(nameOf(dtype)); }
std::string taskWord(Op op) { return std::string(nameOf(op)); }
std::string taskWord(Scalar op) { return '%' + std::string(nameOf(op)); }
std::string taskWord(Combine combine) {
  return "by:" + std::string(nameOf(combine));
}
std::string taskWord(Norm norm) { return "norm:" + std::string(nameOf(norm)); }

bool takeTaskWord(TokenReader &reader, TaskKind &kind) {
  return take(reader, kind);
}
bool takeTaskWord(TokenReader &reader, Role &role) {
  return take(reader, role);
}
bool takeTaskWord(TokenReader &reader, Layout &layout) {
  return take(reader, layout);
}
bool takeTaskWord(TokenReader &reader, DType &dtype) {
  return take(reader, dtype);
}
bool takeTaskWord(TokenReader &reader, Op &op) { return take(reader, op); }
bool takeTaskWord(TokenReader &reader, Scalar &op) { return take(reader, op); }
bool takeTaskWord(TokenReader &reader, Combine &combine) {
  return take(reader, combine);
}
bool takeTaskWord(TokenReader &reader, Norm &norm) {
  return take(reader, norm);
}

std::string loopWord(int loop) { return '@' + std::to_string(loop); }

int64_t usualLanes(int64_t channels) { return (channels + 15) / 16 * 16; }

std::vector<std::string> neededTaskWords() {
  std::vector<std::string> words = {"par",
                                    "red",
                                    "window",
                                    "stride",
                                    "dilation",
                                    "pad",
                                    "same",
                                    "groups",
                                    "transposed_weight",
                                    "count_include_pad",
                                    "epsilon",
                                    "heads",
                                    "key_heads",
                                    "scale",
                                    "const",
                                    "lanes",
                                    "ring",
                                    "border",
                                    "fill",
                                    "acc",
                                    "point",
                                    "operand",
                                    "a",
                                    "b",
                                    "result"};
  for (int loop = 0; loop < kLoopWords; ++loop)
    words.push_back(loopWord(loop));
  addWords<TaskKind>(words);
  addWords<Role>(words);
  addWords<Layout>(words);
  addWords<DType>(words);
  addWords<Op>(words);
  addWords<Norm>(words);
  addWords<Scalar>(words);
  addWords<Combine>(words);
  return words;
}

} // namespace tlm
