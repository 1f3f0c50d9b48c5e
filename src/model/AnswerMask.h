//===- AnswerMask.h - what may be written next ------------------*- C++ -*-===//

#ifndef TLM_MODEL_ANSWERMASK_H
#define TLM_MODEL_ANSWERMASK_H

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace tlm {

/// Walks one answer from its first token to its last; lang/ has one over a
/// Space. The decoder takes nothing but what is allowed. Copies walk on their
/// own, each in one thread at a time.
class AnswerMask {
public:
  virtual ~AnswerMask() = default;
  virtual bool done() const = 0;
  /// Unless done: at least one token, all different; until the next take.
  virtual std::span<const int32_t> allowed() const = 0;
  virtual void take(int32_t token) = 0;
  virtual std::unique_ptr<AnswerMask> copy() const = 0;
};

template <typename T>
concept AnswerCursorType =
    std::copy_constructible<T> && requires(T cursor, int32_t token) {
      { std::as_const(cursor).done() } -> std::convertible_to<bool>;
      {
        std::as_const(cursor).allowed()
      } -> std::convertible_to<std::span<const int32_t>>;
      cursor.take(token);
    };

/// Any type with the three functions as an AnswerMask.
template <AnswerCursorType Cursor>
class CursorMask final : public AnswerMask {
public:
  explicit CursorMask(Cursor cursor) : cursor(std::move(cursor)) {}
  bool done() const override { return cursor.done(); }
  std::span<const int32_t> allowed() const override { return cursor.allowed(); }
  void take(int32_t token) override { cursor.take(token); }
  std::unique_ptr<AnswerMask> copy() const override {
    return std::make_unique<CursorMask>(cursor);
  }

private:
  Cursor cursor;
};

template <AnswerCursorType Cursor>
std::unique_ptr<AnswerMask> maskOf(Cursor cursor) {
  return std::make_unique<CursorMask<Cursor>>(std::move(cursor));
}

} // namespace tlm

#endif // TLM_MODEL_ANSWERMASK_H
