#include "space/ScheduleFile.h"

#include "base/AtomicFile.h"

#include <algorithm>

using namespace tlm;

Result<ScheduleFile> ScheduleFile::read(const std::string &path) {
  TLM_TRY(std::string text, readWholeFile(path));
  return parse(text, path);
}

Result<ScheduleFile> ScheduleFile::parse(const std::string &text,
                                         const std::string &path) {
  ScheduleFile file;
  file.path = path;
  // One schedule's lines, and where each stands.
  std::string part;
  std::vector<size_t> lines;
  auto finish = [&]() -> Status {
    if (lines.empty())
      return success();
    size_t bad = 0;
    Result<Schedule> schedule = parseSchedule(part, &bad);
    if (!schedule) {
      size_t line =
          bad >= 1 && bad <= lines.size() ? lines[bad - 1] : lines.back();
      return makeError(path + ":" + std::to_string(line) + ": " +
                       schedule.error().message);
    }
    for (const Entry &other : file.entries)
      if (other.schedule.taskKey == schedule->taskKey)
        return makeError(path + ":" + std::to_string(lines[0]) +
                         ": a second schedule of task " + schedule->taskKey +
                         "; the first is in line " +
                         std::to_string(other.line));
    file.entries.push_back(
        {std::move(*schedule), lines[0],
         std::vector<size_t>(lines.begin() + std::min<size_t>(2, lines.size()),
                             lines.end())});
    part.clear();
    lines.clear();
    return success();
  };
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty() || line[0] == '#')
      continue;
    if (line.starts_with("tlm-schedule"))
      TLM_TRY_STATUS(finish());
    part += line + '\n';
    lines.push_back(number);
  }
  TLM_TRY_STATUS(finish());
  if (file.entries.empty())
    return makeError(path + ": no schedule; expected 'tlm-schedule " +
                     std::to_string(kScheduleVersion) + "' first");
  return file;
}

const Schedule *ScheduleFile::find(const std::string &taskKey) const {
  for (const Entry &entry : entries)
    if (entry.schedule.taskKey == taskKey)
      return &entry.schedule;
  return nullptr;
}

Status ScheduleFile::check(const std::string &taskKey,
                           const Space &space) const {
  for (const Entry &entry : entries) {
    if (entry.schedule.taskKey != taskKey)
      continue;
    Status status = space.check(entry.schedule);
    if (status)
      return status;
    // The message starts with the decision it is about.
    size_t line = entry.line;
    for (size_t i = 0; i < entry.schedule.choices.size(); ++i) {
      const Choice &choice = entry.schedule.choices[i];
      std::string name(nameOf(choice.decision));
      if (!choice.subject.empty())
        name += ' ' + choice.subject;
      if (status.error().message.starts_with(name + ":") ||
          status.error().message.starts_with(name + " is no"))
        line = entry.choiceLines[i];
    }
    return makeError(path + ":" + std::to_string(line) + ": " +
                     status.error().message);
  }
  return success();
}
