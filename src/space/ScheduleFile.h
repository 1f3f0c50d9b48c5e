//===- ScheduleFile.h - schedules that somebody wrote -----------*- C++ -*-===//
//
// Schedule texts one after the other, as `tlm tune` and `tlm explain` write
// them; empty lines and lines that start with '#' are skipped. What is wrong
// is said with file and line, and nothing is repaired.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_SCHEDULEFILE_H
#define TLM_SPACE_SCHEDULEFILE_H

#include "space/Space.h"

#include <string>
#include <vector>

namespace tlm {

class ScheduleFile {
public:
  static Result<ScheduleFile> read(const std::string &path);
  /// `path` is for messages.
  static Result<ScheduleFile> parse(const std::string &text,
                                    const std::string &path);

  size_t size() const { return entries.size(); }
  /// The schedule of a task, or null.
  const Schedule *find(const std::string &taskKey) const;
  /// Whether the schedule of `space`'s task, if there is one, is a leaf of it.
  Status check(const std::string &taskKey, const Space &space) const;

private:
  struct Entry {
    Schedule schedule;
    /// Of the header, and of every choice.
    size_t line = 0;
    std::vector<size_t> choiceLines;
  };
  std::string path;
  std::vector<Entry> entries;
};

} // namespace tlm

#endif // TLM_SPACE_SCHEDULEFILE_H
