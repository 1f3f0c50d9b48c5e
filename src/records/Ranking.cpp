#include "records/Ranking.h"

#include <algorithm>
#include <map>

using namespace tlm;

static constexpr int32_t kTrustedRounds = 3;
static constexpr double kLittleKnown = 1.03, kOnlyDrifted = kDrift;

namespace {
/// Minima of measurements, one that was made in n rounds n times.
struct Evidence {
  std::vector<double> quiet, drifted;
  bool isOut = false;
};
} // namespace

static double median(std::vector<double> list) {
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}

std::vector<RankedCandidate>
tlm::rankCandidates(const std::vector<Record> &records) {
  std::map<std::string, Evidence> bySchedule;
  for (const Record &record : records) {
    const Measurement &m = record.measurement;
    Evidence &evidence = bySchedule[record.schedule];
    evidence.isOut |= m.outcome == Outcome::Crashed ||
                      m.outcome == Outcome::WrongValues ||
                      m.outcome == Outcome::Exited;
    if (!m.isOk())
      continue;
    std::vector<double> &times =
        record.isDrifted() ? evidence.drifted : evidence.quiet;
    times.insert(times.end(), size_t(m.rounds), m.minMicroseconds);
  }
  std::vector<RankedCandidate> ranked;
  for (const auto &[schedule, evidence] : bySchedule) {
    bool drifted = evidence.quiet.empty();
    const std::vector<double> &times =
        drifted ? evidence.drifted : evidence.quiet;
    if (evidence.isOut || times.empty())
      continue;
    RankedCandidate candidate;
    candidate.schedule = schedule;
    candidate.microseconds = median(times);
    candidate.rounds = int32_t(times.size());
    candidate.drifted = drifted;
    candidate.cautious =
        candidate.microseconds *
        (candidate.rounds < kTrustedRounds ? kLittleKnown : 1) *
        (drifted ? kOnlyDrifted : 1);
    ranked.push_back(std::move(candidate));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedCandidate &a, const RankedCandidate &b) {
                     return a.cautious < b.cautious;
                   });
  return ranked;
}
