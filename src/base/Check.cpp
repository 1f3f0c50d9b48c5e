#include "base/Check.h"

#include <cstdio>
#include <cstdlib>

using namespace tlm;

CheckFailure::CheckFailure(const char *condition, const char *file, int line) {
  text << file << ":" << line << ": check failed: " << condition << ": ";
}

CheckFailure::~CheckFailure() {
  std::fprintf(stderr, "tlm: internal error: %s\n", text.str().c_str());
  std::fflush(stderr);
  // 70 is EX_SOFTWARE, the documented exit code of an internal error.
  std::_Exit(70);
}
