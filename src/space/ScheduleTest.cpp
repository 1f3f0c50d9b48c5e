//===- ScheduleTest.cpp ---------------------------------------------------===//

#include "space/Schedule.h"

#include <gtest/gtest.h>

#include <random>

using namespace tlm;

static const char *const kText = "tlm-schedule 1\n"
                                 "task 3f2a9c0d11e4b870\n"
                                 "algorithm = winograd_blocked\n"
                                 "register_tile w = 7\n"
                                 "parallel_tile h = 14\n"
                                 "loop_order = rows_outer\n"
                                 "epilogue_place = row_loop\n"
                                 "prologue = scale_input\n"
                                 "max_parallelism = 2\n";

// Records store this text: a change is a new kScheduleVersion.
TEST(Schedule, TextIsLocked) {
  Schedule schedule{"3f2a9c0d11e4b870", {}};
  schedule.set(Decision::Algorithm, "", int64_t(Algorithm::WinogradBlocked));
  schedule.set(Decision::RegisterTile, "w", 6);
  schedule.set(Decision::ParallelTile, "h", 14);
  schedule.set(Decision::LoopOrder, "", int64_t(LoopOrder::RowsOuter));
  schedule.set(Decision::EpiloguePlace, "", int64_t(EpiloguePlace::RowLoop));
  schedule.set(Decision::Prologue, "", int64_t(Prologue::ScaleInput));
  schedule.set(Decision::MaxParallelism, "", 2);
  schedule.set(Decision::RegisterTile, "w", 7);
  EXPECT_EQ(schedule.text(), kText);
  EXPECT_EQ(schedule.get(Decision::RegisterTile, "w", 1), 7);
  EXPECT_EQ(schedule.get(Decision::RegisterTile, "h", 1), 1);

  Result<Schedule> parsed = parseSchedule(kText);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, schedule);
}

TEST(Schedule, DamagedTextIsRefusedOrAnotherSchedule) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string text = kText;
    size_t at = random() % text.size();
    if (i % 2)
      text.erase(at, 1 + random() % 9);
    else
      text[at] = "0129 =_\nab-"[random() % 11];
    Result<Schedule> parsed = parseSchedule(text);
    if (parsed.ok())
      EXPECT_EQ(parsed->text(), text);
  }
}

static std::string errorOf(const std::string &choices) {
  Result<Schedule> parsed =
      parseSchedule("tlm-schedule 1\ntask 3f2a9c0d11e4b870\n" + choices);
  return parsed.ok() ? "parsed" : parsed.error().message;
}

TEST(Schedule, ErrorsNameTheLine) {
  EXPECT_EQ(errorOf(""), "parsed");
  EXPECT_EQ(errorOf("algorithm = direct\nwarp = 3\n"),
            "schedule text, line 4: unknown decision: 'warp = 3'");
  EXPECT_EQ(errorOf("loop_order = 1\n"),
            "schedule text, line 3: expected one of panels_outer rows_outer "
            "pixels_outer: 'loop_order = 1'");
  EXPECT_EQ(errorOf("tile_rows = 07\n"),
            "schedule text, line 3: expected a number: 'tile_rows = 07'");
  EXPECT_EQ(errorOf("tile_rows = 7\ntile_rows = 8\n"),
            "schedule text, line 4: chosen twice: 'tile_rows = 8'");
  EXPECT_EQ(parseSchedule("tlm-schedule 2\n").error().message,
            "schedule text, line 1: expected 'tlm-schedule 1': "
            "'tlm-schedule 2'");
  EXPECT_EQ(parseSchedule("tlm-schedule 1\ntask 12\n").error().message,
            "schedule text, line 2: expected 'task' and its key: 'task 12'");
}
