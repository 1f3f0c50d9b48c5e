#include "TuneReport.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

namespace tlm {

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static std::map<std::string, int64_t> outcomesOf(const TuneResult &result) {
  std::map<std::string, int64_t> counts;
  for (const Trial &trial : result.trials)
    ++counts[std::string(nameOf(trial.measurement.outcome))];
  return counts;
}

void printTuneHeader() {
  std::printf("%3s %-40s %5s %10s %10s %10s %8s %8s %6s\n", "id", "task",
              "calls", "fixed us", "default", "best", "gain", "GFLOP/s",
              "trials");
}

void printTuneRow(size_t number, const NetworkTask &entry,
                  const TuneResult &r) {
  int64_t calls =
      std::accumulate(entry.calls.begin(), entry.calls.end(), int64_t(0));
  std::printf(
      "%3zu %-40s %5lld %10.2f %10.2f %10.2f %7.3fx %8.1f %6zu", number,
      entry.task.label().substr(0, 40).c_str(), static_cast<long long>(calls),
      r.fixedMicroseconds, r.defaultMicroseconds, r.bestMicroseconds,
      ratio(r.defaultMicroseconds, r.bestMicroseconds),
      ratio(entry.task.flops() / 1e3, r.bestMicroseconds), r.trials.size());
  if (r.remembered > 0)
    std::printf("  %lld from records", static_cast<long long>(r.remembered));
  for (const auto &[name, count] : outcomesOf(r))
    if (name != "ok")
      std::printf("  %s %lld", name.c_str(), static_cast<long long>(count));
  std::printf("\n");
  std::fflush(stdout);
}

nlohmann::json tuneJson(const NetworkTask &entry, const TuneResult &result) {
  nlohmann::json trials = nlohmann::json::array(),
                 finalists = nlohmann::json::array();
  for (const Trial &trial : result.trials)
    trials.push_back({{"schedule", trial.schedule.text()},
                      {"outcome", nameOf(trial.measurement.outcome)},
                      {"min_us", trial.measurement.minMicroseconds},
                      {"median_us", trial.measurement.medianMicroseconds},
                      {"slowdown", trial.measurement.slowdown},
                      {"detail", trial.measurement.detail}});
  for (const Finalist &finalist : result.finalists)
    finalists.push_back({{"schedule", finalist.schedule.text()},
                         {"min_us", finalist.microseconds}});
  return {{"key", entry.task.key()},
          {"label", entry.task.label()},
          {"kind", nameOf(entry.task.kind)},
          {"calls", entry.calls},
          {"default_us", result.defaultMicroseconds},
          {"fixed_us", result.fixedMicroseconds},
          {"best_us", result.bestMicroseconds},
          {"best_schedule", result.bestSchedule.text()},
          {"default_schedule", result.defaultSchedule.text()},
          {"fixed_schedule", result.fixedSchedule.text()},
          {"build_s", result.buildSeconds},
          {"measure_s", result.measureSeconds},
          {"remembered", result.remembered},
          {"outcomes", outcomesOf(result)},
          {"finalists", finalists},
          {"trials", trials}};
}

namespace {
/// Milliseconds of all calls of one path.
struct Total {
  double fixed = 0, byDefault = 0, best = 0;
};
} // namespace

nlohmann::json printTuneTotals(const std::vector<std::string> &paths,
                               const std::vector<NetworkTask> &tasks,
                               const std::vector<TuneResult> &results) {
  std::vector<Total> totals(paths.size());
  double logGain = 0, logFixed = 0;
  size_t count = 0, trials = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const TuneResult &r = results[i];
    trials += r.trials.size();
    if (r.bestMicroseconds <= 0 || r.fixedMicroseconds <= 0)
      continue;
    for (size_t p = 0; p < paths.size(); ++p) {
      double calls = double(tasks[i].calls[p]) / 1e3;
      totals[p].fixed += calls * r.fixedMicroseconds;
      totals[p].byDefault += calls * r.defaultMicroseconds;
      totals[p].best += calls * r.bestMicroseconds;
    }
    logGain += std::log(r.defaultMicroseconds / r.bestMicroseconds);
    logFixed += std::log(r.fixedMicroseconds / r.bestMicroseconds);
    ++count;
  }
  std::printf("\n%-40s %9s %9s %9s %12s %10s\n", "sum over kernels", "fixed ms",
              "default", "best", "default/best", "fixed/best");
  nlohmann::json list = nlohmann::json::array();
  for (size_t p = 0; p < paths.size(); ++p) {
    const Total &t = totals[p];
    std::printf("%-40s %9.3f %9.3f %9.3f %11.3fx %9.3fx\n",
                paths[p].substr(paths[p].rfind('/') + 1).c_str(), t.fixed,
                t.byDefault, t.best, ratio(t.byDefault, t.best),
                ratio(t.fixed, t.best));
    list.push_back({{"path", paths[p]},
                    {"fixed_ms", t.fixed},
                    {"default_ms", t.byDefault},
                    {"best_ms", t.best}});
  }
  if (count)
    std::printf("geometric mean over %zu tasks: default/best %.3fx, fixed/best "
                "%.3fx; %zu trials\n",
                count, std::exp(logGain / double(count)),
                std::exp(logFixed / double(count)), trials);
  if (count < tasks.size())
    std::printf("%zu tasks of %zu have no result and keep the default "
                "schedule\n",
                tasks.size() - count, tasks.size());
  return list;
}

std::string scheduleFileText(const std::vector<NetworkTask> &tasks,
                             const std::vector<TuneResult> &results) {
  std::string text;
  char line[160];
  for (size_t i = 0; i < results.size(); ++i) {
    const TuneResult &r = results[i];
    if (r.bestMicroseconds <= 0)
      continue;
    std::snprintf(line, sizeof line, " default %.2f us, this %.2f us\n",
                  r.defaultMicroseconds, r.bestMicroseconds);
    text += "# " + tasks[i].task.label() + line + r.bestSchedule.text() + '\n';
  }
  return text;
}

} // namespace tlm
