#include "driver/Linker.h"

#include "base/AtomicFile.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tlm {
namespace {

TEST(Linker, UnresolvedSymbolIsAnErrorThatNamesIt) {
  auto object = readWholeFile(TLM_TEST_UNRESOLVED);
  ASSERT_TRUE(object.ok());
  LinkInput input;
  input.objects = {*object};
  input.exported = {"tiny_unresolved"};
  input.soname = "x.so";
  auto linked = linkSharedObject(input);
  ASSERT_FALSE(linked.ok());
  EXPECT_NE(linked.error().message.find("tiny_missing_function"),
            std::string::npos)
      << linked.error().message;
}

TEST(Linker, MissingLinkerIsAnError) {
  setenv("TLM_LINKER", "/no/such/linker", 1);
  auto linked = linkSharedObject({});
  unsetenv("TLM_LINKER");
  ASSERT_FALSE(linked.ok());
  EXPECT_NE(linked.error().message.find("/no/such/linker"), std::string::npos);
}

} // namespace
} // namespace tlm
