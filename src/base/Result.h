//===- Result.h - a value or a located user error ---------------*- C++ -*-===//
//
// The "error" of TLM's three kinds (bug: Check.h, rejection: Reject.h): the
// user's model, file, flag or machine is wrong. An Error never stops the
// process; it travels up to the tool, which prints it and picks the exit code.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_BASE_RESULT_H
#define TLM_BASE_RESULT_H

#include "base/Check.h"

#include <string>
#include <utility>
#include <variant>

namespace tlm {

/// What the process should say about an error; the values are the documented
/// exit codes of the command line.
enum class ErrorCode : int {
  Model = 1,    ///< the model, a file or an input is wrong
  Usage = 2,    ///< the command line is wrong
  Mismatch = 3, ///< verification failed
  Machine = 4,  ///< the artifact is not for this machine
};

/// Message form: lower case, no full stop, what was found, what was allowed,
/// where. The hint, when there is one, says what to do about it.
struct Error {
  ErrorCode code = ErrorCode::Model;
  std::string message;
  std::string hint;
};

inline Error makeError(std::string message, std::string hint = {},
                       ErrorCode code = ErrorCode::Model) {
  return Error{code, std::move(message), std::move(hint)};
}

/// Either a T or an Error. Must be looked at.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  T &operator*() { return value(); }
  const T &operator*() const { return value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  T &value() {
    TLM_CHECK(ok()) << error().message;
    return std::get<0>(state);
  }
  const T &value() const {
    TLM_CHECK(ok()) << error().message;
    return std::get<0>(state);
  }
  const Error &error() const { return std::get<1>(state); }

private:
  std::variant<T, Error> state;
};

/// Success without a value.
struct Success {};
using Status = Result<Success>;
inline Status success() { return Success{}; }

} // namespace tlm

#define TLM_CONCAT_IMPL(a, b) a##b
#define TLM_CONCAT(a, b) TLM_CONCAT_IMPL(a, b)

/// `TLM_TRY(auto x, f());` binds x to the value or returns the error.
#define TLM_TRY(decl, expr)                                                    \
  auto TLM_CONCAT(tlmResult, __LINE__) = (expr);                               \
  if (!TLM_CONCAT(tlmResult, __LINE__).ok())                                   \
    return TLM_CONCAT(tlmResult, __LINE__).error();                            \
  decl = std::move(*TLM_CONCAT(tlmResult, __LINE__))

/// `TLM_TRY_STATUS(f());` returns the error of a Status, if there is one.
#define TLM_TRY_STATUS(expr)                                                   \
  if (auto TLM_CONCAT(tlmStatus, __LINE__) = (expr);                           \
      !TLM_CONCAT(tlmStatus, __LINE__).ok())                                   \
  return TLM_CONCAT(tlmStatus, __LINE__).error()

#endif // TLM_BASE_RESULT_H
