#include "records/Record.h"

#include "base/Hash.h"
#include "base/NumberText.h"
#include "records/TargetKey.h"
#include "space/Schedule.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

static constexpr size_t kMostDetail = 500, kMostWord = 100,
                        kMostSchedule = 1 << 16;
static constexpr int32_t kMostRounds = 1000;

std::string_view tlm::compilerVersion() { return TLM_TOOL_VERSION; }

std::string Record::id() const {
  const Measurement &m = measurement;
  const Provenance &p = provenance;
  std::string text = "tlm-record 1\n";
  auto line = [&](std::string_view name, std::string_view value) {
    text.append(name).append(" ").append(value).append("\n");
  };
  line("task", task);
  line("target", target);
  line("language", std::to_string(maker.language));
  line("compiler", maker.compiler);
  line("build", maker.build);
  line("outcome", nameOf(m.outcome));
  line("detail", m.detail);
  line("min_us", doubleText(m.minMicroseconds));
  line("median_us", doubleText(m.medianMicroseconds));
  line("samples", std::to_string(m.samples));
  line("slowdown", doubleText(m.slowdown));
  line("rounds", std::to_string(m.rounds));
  line("strategy", p.strategy);
  line("seed", std::to_string(p.seed));
  line("trial", std::to_string(p.trial));
  line("time", std::to_string(p.time));
  return hash128Text(text + schedule);
}

static bool isLine(std::string_view text, size_t most) {
  return text.size() <= most &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~'; });
}

static bool isWord(std::string_view text) {
  return !text.empty() && isLine(text, kMostWord);
}

std::string Record::verify() const {
  const Measurement &m = measurement;
  if (nameOf(m.outcome) == "?")
    return "unknown outcome " + std::to_string(int32_t(m.outcome));
  for (double value : {m.minMicroseconds, m.medianMicroseconds, m.slowdown})
    if (!std::isfinite(value) || value < 0)
      return "a time or slowdown that is no number of 0 or more";
  if (m.rounds > kMostRounds)
    return "more than " + std::to_string(kMostRounds) + " rounds";
  if (m.samples < 0 || m.rounds < 1 || provenance.trial < 0 ||
      provenance.time < 0 || maker.language < 0)
    return "a count that is negative";
  if (m.isOk() && (m.minMicroseconds <= 0 || m.samples < 1 ||
                   m.medianMicroseconds < m.minMicroseconds))
    return "outcome ok, but the times are not 0 < min <= median of 1 sample "
           "and more";
  if (!isLine(m.detail, kMostDetail))
    return "a detail that is no line of printable ASCII up to " +
           std::to_string(kMostDetail);
  for (const std::string *word :
       {&task, &target, &maker.compiler, &maker.build, &provenance.strategy})
    if (!isWord(*word))
      return "a key, version or name that is empty, too long or not printable";
  if (schedule.size() > kMostSchedule)
    return "a schedule of more than " + std::to_string(kMostSchedule) +
           " bytes";
  Result<Schedule> parsed = parseSchedule(schedule);
  if (!parsed)
    return parsed.error().message;
  if (parsed->taskKey != task)
    return "a schedule of task " + parsed->taskKey + " in a record of task " +
           task;
  return {};
}

Result<Task> tlm::storedTask(const std::string &key, const std::string &text) {
  TLM_TRY(Task task, parseTask(text));
  if (task.text() != text)
    return makeError("task " + key + " is not spelled as its canonical text");
  if (task.key() != key)
    return makeError("the text of task " + key + " is that of task " +
                     task.key());
  return task;
}

Status tlm::checkTargetText(const std::string &key, const std::string &text) {
  TLM_TRY(std::string right, targetKey(text));
  if (right != key)
    return makeError("the text of target " + key.substr(0, 100) +
                     " is that of target " + right);
  return success();
}

std::string tlm::cleanDetail(std::string_view text) {
  std::string clean(text.substr(0, kMostDetail));
  for (char &c : clean)
    if (c < ' ' || c > '~')
      c = c == '\n' ? ' ' : '?';
  return clean;
}
