//===- RecordLines.h - records as lines of JSON -----------------*- C++ -*-===//
//
// The form in which records travel, version 1. First the header, then a line
// for each task, target and record; a record comes after the task and the
// target that it names:
//   {"format":"tlm-records","version":1}
//   {"task":{"key":"3f2a...","text":"tlm-task 1\nkind conv\n..."}}
//   {"target":{"key":"znver5.2t.77...","text":"x86_64-... threads=2"}}
//   {"record":{"id":"...","task":"3f2a...","target":"znver5.2t.77...",
//     "schedule":"tlm-schedule 1\n...","language":0,"compiler":"0.1.0",
//     "build":"...","outcome":"ok","detail":"","min_us":12.5,"median_us":12.75,
//     "samples":500,"slowdown":1.0,"rounds":1,"strategy":"random","seed":1,
//     "trial":7,"time":1760000000}}
// Names are sorted and nothing is optional, so equal records are equal bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_RECORDS_RECORDLINES_H
#define TLM_RECORDS_RECORDLINES_H

#include "records/Record.h"

#include <string>
#include <string_view>

namespace tlm {

/// With their newlines.
std::string headerLine();
std::string taskLine(const std::string &key, const std::string &text);
std::string targetLine(const std::string &key, const std::string &text);
std::string recordLine(const Record &record);

/// Adds the records of a whole file to `into`. The first line that is not
/// exactly as above, or that does not hold what its keys and identity say, is
/// an error with `path` and the line; `into` is not usable then.
Status readRecordLines(std::string_view text, const std::string &path,
                       RecordSet &into);

} // namespace tlm

#endif // TLM_RECORDS_RECORDLINES_H
