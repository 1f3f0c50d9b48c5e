#include "records/Measurement.h"

using namespace tlm;

namespace {
struct OutcomeRow {
  Outcome outcome;
  std::string_view name;
};
constexpr OutcomeRow kOutcomes[] = {
    {Outcome::Ok, "ok"},
    {Outcome::Rejected, "rejected"},
    {Outcome::WrongValues, "wrong_values"},
    {Outcome::Crashed, "crashed"},
    {Outcome::TimedOut, "timed_out"},
    {Outcome::OutOfMemory, "out_of_memory"},
    {Outcome::Exited, "exited"},
    {Outcome::CutOff, "cut_off"},
    {Outcome::NoTime, "no_time"},
    {Outcome::Unloadable, "unloadable"},
};
} // namespace

std::string_view tlm::nameOf(Outcome outcome) {
  for (const OutcomeRow &row : kOutcomes)
    if (row.outcome == outcome)
      return row.name;
  return "?";
}

std::optional<Outcome> tlm::outcomeNamed(std::string_view name) {
  for (const OutcomeRow &row : kOutcomes)
    if (row.name == name)
      return row.outcome;
  return std::nullopt;
}
