// libFuzzer: any text as a task with a file of schedules behind it. A task that
// is taken is written as it was meant and has a space of legal schedules; a
// schedule that its space takes passes the independent checker.

#include "base/Damaged.h"
#include "space/DefaultSchedule.h"
#include "space/ScheduleChecker.h"
#include "space/ScheduleFile.h"
#include "space/SpaceTestTasks.h"

using namespace tlm;

namespace {

const Target &machine() {
  static const Target target = *targetFor("x86-64-v4");
  return target;
}

/// A task of the tests and two of its schedules.
std::string soundText(uint8_t choice) {
  static const std::vector<Task> tasks = spaceTestTasks();
  const Task &task = tasks[choice % tasks.size()];
  Random random(choice);
  Schedule other = Space(task, machine()).sample(random);
  other.taskKey = "0123456789abcdef";
  return task.text() + defaultSchedule(task, machine()).text() + "# more\n" +
         other.text();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  std::string text =
      data[0] % 4
          ? damaged(soundText(data[1]), data + 2, size - 2)
          : std::string(reinterpret_cast<const char *>(data) + 1, size - 1);
  size_t end = std::min(text.find("tlm-schedule"), text.size());
  Result<ScheduleFile> file = ScheduleFile::parse(text.substr(end), "fuzz");
  Result<Task> task = parseTask(text.substr(0, end));
  if (!task)
    return 0;
  Result<Task> again = parseTask(task->text());
  TLM_CHECK(again && again->text() == task->text()) << task->text();
  Space space(*task, machine());
  Random random(data[1]);
  Schedule drawn = space.sample(random);
  std::string wrong = checkSchedule(*task, machine(), drawn);
  TLM_CHECK(wrong.empty()) << wrong << '\n' << task->text() << drawn.text();
  TLM_CHECK(space.check(defaultSchedule(*task, machine()))) << task->text();
  const Schedule *given = file ? file->find(task->key()) : nullptr;
  if (given && file->check(task->key(), space))
    TLM_CHECK(checkSchedule(*task, machine(), *given).empty()) << given->text();
  return 0;
}
