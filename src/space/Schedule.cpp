//===- Schedule.cpp -------------------------------------------------------===//

#include "space/Schedule.h"

#include "base/NumberText.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>

namespace tlm {

namespace {
struct DecisionRow {
  Decision decision;
  std::string_view name;
};
constexpr DecisionRow kDecisions[] = {
#define TLM_DECISION(id, name, text) {Decision::name, text},
#include "space/Decisions.def"
};
} // namespace

std::string_view nameOf(Decision decision) {
  for (const DecisionRow &row : kDecisions)
    if (row.decision == decision)
      return row.name;
  return "?";
}

/// Names by value; empty for the decisions that are numbers.
static std::span<const std::string_view> valueNames(Decision decision) {
  static constexpr std::string_view kAlgorithms[] = {
      "direct", "winograd_blocked", "winograd_staged", "plain"};
  static constexpr std::string_view kOrders[] = {"panels_outer", "rows_outer",
                                                 "pixels_outer"};
  static constexpr std::string_view kPlaces[] = {"register_tile", "row_loop"};
  static constexpr std::string_view kPrologues[] = {
      "none", "scale_weights", "scale_input", "pack_weights"};
  static constexpr std::string_view kPrefetches[] = {"none", "next_panel"};
  static constexpr std::string_view kWinogradTiles[] = {"f2x2", "f4x4"};
  switch (decision) {
  case Decision::Algorithm:
    return kAlgorithms;
  case Decision::LoopOrder:
    return kOrders;
  case Decision::EpiloguePlace:
    return kPlaces;
  case Decision::Prologue:
    return kPrologues;
  case Decision::Prefetch:
    return kPrefetches;
  case Decision::WinogradTile:
    return kWinogradTiles;
  default:
    return {};
  }
}

std::string valueText(Decision decision, int64_t value) {
  std::span<const std::string_view> names = valueNames(decision);
  if (value >= 0 && size_t(value) < names.size())
    return std::string(names[size_t(value)]);
  return std::to_string(value);
}

int64_t Schedule::get(Decision decision, std::string_view subject,
                      int64_t otherwise) const {
  for (const Choice &choice : choices)
    if (choice.decision == decision && choice.subject == subject)
      return choice.value;
  return otherwise;
}

void Schedule::set(Decision decision, std::string_view subject, int64_t value) {
  for (Choice &choice : choices)
    if (choice.decision == decision && choice.subject == subject) {
      choice.value = value;
      return;
    }
  choices.push_back({decision, std::string(subject), value});
}

std::string Schedule::text() const {
  std::string text = "tlm-schedule " + std::to_string(kScheduleVersion) +
                     "\ntask " + taskKey + '\n';
  for (const Choice &choice : choices) {
    text += nameOf(choice.decision);
    if (!choice.subject.empty())
      text += ' ' + choice.subject;
    text += " = " + valueText(choice.decision, choice.value) + '\n';
  }
  return text;
}

static Error lineError(std::string_view line, const std::string &what) {
  return makeError(what + ": '" + std::string(line.substr(0, 80)) + "'");
}

static bool isSubject(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

static bool isKey(std::string_view text) {
  return text.size() == 16 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9');
         });
}

/// The value, or nothing when it is neither a name nor a number of that
/// decision. A number has one spelling.
static std::optional<int64_t> parseValue(Decision decision,
                                         std::string_view text) {
  std::span<const std::string_view> names = valueNames(decision);
  if (!names.empty()) {
    auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
      return std::nullopt;
    return found - names.begin();
  }
  std::optional<int64_t> value = parseInteger(text);
  if (!value || std::to_string(*value) != text)
    return std::nullopt;
  return value;
}

static Result<Choice> parseChoice(std::string_view line) {
  size_t equals = line.find(" = ");
  if (equals == std::string_view::npos)
    return lineError(line, "expected 'decision [subject] = value'");
  std::string_view left = line.substr(0, equals);
  std::string_view right = line.substr(equals + 3);
  size_t space = left.find(' ');
  std::string_view name = left.substr(0, space);
  std::string_view subject =
      space == std::string_view::npos ? "" : left.substr(space + 1);
  auto row =
      std::find_if(std::begin(kDecisions), std::end(kDecisions),
                   [name](const DecisionRow &row) { return row.name == name; });
  if (row == std::end(kDecisions))
    return lineError(line, "unknown decision");
  if (!isSubject(subject) || (space != left.npos && subject.empty()))
    return lineError(line, "malformed subject");
  std::optional<int64_t> value = parseValue(row->decision, right);
  if (!value) {
    std::string legal;
    for (std::string_view candidate : valueNames(row->decision))
      legal.append(" ").append(candidate);
    return lineError(line, legal.empty() ? "expected a number"
                                         : "expected one of" + legal);
  }
  return Choice{row->decision, std::string(subject), *value};
}

/// `number` becomes the line that is wrong, the first one being 1.
static Result<Schedule> parse(const std::string &text, size_t &number) {
  std::string version = "tlm-schedule " + std::to_string(kScheduleVersion);
  Schedule schedule;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    ++number;
    if (end == std::string_view::npos)
      return lineError(line, "line without an end");
    rest.remove_prefix(end + 1);
    if (number == 1) {
      if (line != version)
        return lineError(line, "expected '" + version + "'");
      continue;
    }
    if (number == 2) {
      if (!line.starts_with("task ") || !isKey(line.substr(5)))
        return lineError(line, "expected 'task' and its key");
      schedule.taskKey = line.substr(5);
      continue;
    }
    TLM_TRY(Choice choice, parseChoice(line));
    for (const Choice &other : schedule.choices)
      if (other.decision == choice.decision && other.subject == choice.subject)
        return lineError(line, "chosen twice");
    schedule.choices.push_back(std::move(choice));
  }
  if (number < 2) {
    ++number;
    return lineError("", "text ends before the task's key");
  }
  return schedule;
}

Result<Schedule> parseSchedule(const std::string &text, size_t *badLine) {
  size_t number = 0;
  Result<Schedule> schedule = parse(text, number);
  if (schedule)
    return schedule;
  if (badLine) {
    *badLine = number;
    return schedule;
  }
  return makeError("schedule text, line " + std::to_string(number) + ": " +
                   schedule.error().message);
}

} // namespace tlm
