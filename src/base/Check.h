//===- Check.h - invariants of ours -----------------------------*- C++ -*-===//
//
// The "bug" of TLM's three kinds: an invariant of ours broke. Prints the
// condition, file, line and context, then aborts. User input must never reach
// a failing check.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_BASE_CHECK_H
#define TLM_BASE_CHECK_H

#include <sstream>

namespace tlm {

class CheckFailure {
public:
  CheckFailure(const char *condition, const char *file, int line);
  [[noreturn]] ~CheckFailure();

  template <typename T>
  CheckFailure &operator<<(const T &value) {
    text << value;
    return *this;
  }

private:
  std::ostringstream text;
};

} // namespace tlm

#define TLM_CHECK(cond)                                                        \
  if (cond) {                                                                  \
  } else                                                                       \
    ::tlm::CheckFailure(#cond, __FILE__, __LINE__)

#endif // TLM_BASE_CHECK_H
