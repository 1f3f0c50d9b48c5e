#include "lang/Hardware.h"

#include "lang/LangTestTasks.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

std::vector<Token> tokensOf(const Hardware &hardware) {
  std::vector<Token> tokens;
  appendHardware(tokens, hardware);
  return tokens;
}

} // namespace

TEST(Hardware, Sentence) {
  EXPECT_EQ(wordsText(tokensOf(Hardware::of(targetOf("znver5", 2)))),
            "[HW] x86 v4 ~2^9 *512 ~2^5 *32 2 ~2^15 *16384 *3 ~2^20 *65536 *16 "
            "~2^25 *65536 *512 2 [?] [?] [?]");
  MeasuredSpeed measured{.coreGflops = 280,
                         .l2GigabytesPerSecond = 0,
                         .memoryGigabytesPerSecond = 1e99};
  EXPECT_EQ(
      wordsText(tokensOf(Hardware::of(targetOf("x86-64-v3", 1), measured))),
      "[HW] x86 v3 ~2^8 *256 16 [?] ~2^15 *32768 ~2^19 *65536 *8 ~2^24 "
      "*65536 *256 1 log8 [?] log20");
}

TEST(Hardware, ReadsBackWithAnythingUnknown) {
  Random random(1);
  for (const Target &target : langTestTargets())
    for (int i = 0; i < 500; ++i) {
      Hardware hardware =
          Hardware::of(target, {.coreGflops = double(random.below(2000)),
                                .l2GigabytesPerSecond = 100,
                                .memoryGigabytesPerSecond = 0.3});
      if (random.below(2))
        hardware.family.reset();
      if (random.below(2))
        hardware.level.reset();
      for (auto &number : hardware.numbers)
        if (random.below(2))
          number.reset();
      std::vector<Token> tokens = tokensOf(hardware);
      TokenReader reader(tokens);
      Result<Hardware> back = readHardware(reader);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, hardware);
      EXPECT_TRUE(reader.atEnd());
      // Cut anywhere, it is refused.
      tokens.resize(random.below(tokens.size()));
      TokenReader cut(tokens);
      EXPECT_FALSE(readHardware(cut));
    }
}

TEST(Hardware, ErrorsNameThePlace) {
  std::vector<Token> tokens = {kHardware, kTask};
  TokenReader reader(tokens);
  EXPECT_EQ(readHardware(reader).error().message,
            "token 1, '[TASK]': expected a family of processors or [?]");
}
