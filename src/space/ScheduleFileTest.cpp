#include "space/ScheduleFile.h"

#include "space/DefaultSchedule.h"
#include "space/SpaceTestTasks.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

Task task() {
  Result<Task> parsed =
      parseTask("tlm-task 1\n" + std::string(kSpaceTestTasks[0]));
  EXPECT_TRUE(parsed);
  return std::move(*parsed);
}

std::string errorOf(const std::string &text) {
  Result<ScheduleFile> file = ScheduleFile::parse(text, "f");
  return file ? "" : file.error().message;
}

/// The number of the line that starts with `start`.
size_t lineOf(const std::string &text, const std::string &start) {
  size_t at = text.find('\n' + start) + 1;
  return size_t(std::count(text.begin(), text.begin() + int64_t(at), '\n')) + 1;
}

} // namespace

TEST(ScheduleFile, ReadsSchedulesBetweenComments) {
  Task conv = task();
  Target target = *targetFor("x86-64-v4");
  Schedule schedule = defaultSchedule(conv, target);
  Schedule other = plainSchedule(conv);
  other.taskKey = "0123456789abcdef";
  Result<ScheduleFile> file = ScheduleFile::parse(
      "# a\n\n" + schedule.text() + "\n# b\n" + other.text(), "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->size(), 2u);
  ASSERT_NE(file->find(conv.key()), nullptr);
  EXPECT_EQ(*file->find(conv.key()), schedule);
  EXPECT_NE(file->find(other.taskKey), nullptr);
  EXPECT_EQ(file->find("fedcba9876543210"), nullptr);
  EXPECT_TRUE(file->check(conv.key(), Space(conv, target)));
}

TEST(ScheduleFile, NamesDecisionValueChoicesAndLine) {
  Task conv = task();
  Target target = *targetFor("x86-64-v4");
  std::string text =
      "# a comment\n" + defaultSchedule(conv, target).text() + "\n";
  size_t line = lineOf(text, "register_tile w = ");
  size_t at = text.find("register_tile w = ");
  text.replace(at, text.find('\n', at) - at, "register_tile w = 99");
  Result<ScheduleFile> file = ScheduleFile::parse(text, "f");
  ASSERT_TRUE(file);
  Status status = file->check(conv.key(), Space(conv, target));
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.starts_with(
      "f:" + std::to_string(line) +
      ": register_tile w: 99 is not among the choices; legal: "))
      << status.error().message;
}

TEST(ScheduleFile, NamesTheLineOfMalformedText) {
  EXPECT_EQ(errorOf(""), "f: no schedule; expected 'tlm-schedule 1' first");
  EXPECT_EQ(errorOf("# x\n\ntlm-schedule 2\ntask 0123456789abcdef\n"),
            "f:3: expected 'tlm-schedule 1': 'tlm-schedule 2'");
  EXPECT_EQ(errorOf("tlm-schedule 1\ntask 0123456789abcdef\n\n# y\nsize = 3\n"),
            "f:5: unknown decision: 'size = 3'");
  EXPECT_EQ(errorOf("tlm-schedule 1\n"),
            "f:1: text ends before the task's key: ''");
  std::string one = "tlm-schedule 1\ntask 0123456789abcdef\n";
  EXPECT_EQ(errorOf(one + one), "f:3: a second schedule of task "
                                "0123456789abcdef; the first is in line 1");
}

TEST(ScheduleFile, TakesEveryByteOfAnyText) {
  Task conv = task();
  std::string text = defaultSchedule(conv, *targetFor("x86-64-v3")).text();
  for (size_t i = 0; i < text.size(); ++i)
    for (char c : {'\0', '\n', '=', ' ', '9', '\xff'}) {
      std::string damaged = text;
      damaged[i] = c;
      errorOf(damaged);
      errorOf(damaged.substr(0, i));
    }
}
