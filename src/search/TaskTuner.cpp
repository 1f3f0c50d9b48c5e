#include "search/TaskTuner.h"

#include "search/Variation.h"
#include "space/DefaultSchedule.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

using namespace tlm;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Schedule tlm::fixedSchedule(const Space &space, const Target &target) {
  return space.write([&](const DecisionPoint &point) {
    int64_t value = 0;
    switch (point.decision) {
    case Decision::Algorithm:
      value = int64_t(Algorithm::Direct);
      break;
    case Decision::RegisterRow:
      value = 2;
      break;
    case Decision::RegisterTile:
      value = point.subject == "h" ? 1 : 7;
      break;
    case Decision::ParallelTile: {
      // The first loop that may be cut is, into a chunk a thread.
      int64_t whole =
          *std::max_element(point.choices.begin(), point.choices.end());
      bool outer = point.subject == "rows" || point.subject == "x";
      value = outer ? whole / target.threads : whole;
      break;
    }
    case Decision::MaxParallelism:
      value = target.threads;
      break;
    default:
      value = point.choices.front();
      break;
    }
    auto distance = [&](int64_t choice) { return std::abs(choice - value); };
    return *std::min_element(
        point.choices.begin(), point.choices.end(),
        [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
  });
}

namespace {

class Tuner {
public:
  Tuner(const Task &task, const TuneOptions &options)
      : task(task), options(options), measurer(options.measure) {}

  TuneResult run(const StrategyInfo &info,
                 const std::function<void(int64_t)> &progress);

private:
  struct Built {
    Schedule schedule;
    std::optional<Result<Kernel>> kernel;
  };
  std::vector<Built> build(std::vector<Schedule> schedules);
  std::vector<Measurement> measureAll(const std::vector<Built> &built,
                                      bool check, double cutOff);
  void final();

  const Task &task;
  const TuneOptions &options;
  Measurer measurer;
  TuneResult result;
};

} // namespace

std::vector<Tuner::Built> Tuner::build(std::vector<Schedule> schedules) {
  Clock::time_point begin = Clock::now();
  std::vector<Built> built;
  for (Schedule &schedule : schedules)
    built.push_back({std::move(schedule), std::nullopt});
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < built.size();)
      built[i].kernel.emplace(
          lowerTask(task, built[i].schedule, options.target, "k"));
  };
  std::vector<std::thread> workers;
  int64_t jobs = std::min<int64_t>(options.jobs, int64_t(built.size()));
  for (int64_t i = 1; i < jobs; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  result.buildSeconds += secondsSince(begin);
  return built;
}

std::vector<Measurement> Tuner::measureAll(const std::vector<Built> &built,
                                           bool check, double cutOff) {
  Clock::time_point begin = Clock::now();
  std::vector<Measurement> measurements(built.size());
  std::vector<Candidate> candidates;
  std::vector<size_t> places;
  for (size_t i = 0; i < built.size(); ++i) {
    if (!*built[i].kernel) {
      measurements[i].outcome = Outcome::Rejected;
      measurements[i].detail = built[i].kernel->error().message;
      continue;
    }
    candidates.push_back({&task, &**built[i].kernel, check, cutOff});
    places.push_back(i);
  }
  std::vector<Measurement> measured = measurer.measure(candidates);
  for (size_t i = 0; i < places.size(); ++i)
    measurements[places[i]] = std::move(measured[i]);
  result.measureSeconds += secondsSince(begin);
  return measurements;
}

// The best ones, the default and the fixed schedule, in turn.
void Tuner::final() {
  std::vector<const Trial *> order;
  for (const Trial &trial : result.trials)
    if (trial.measurement.isOk())
      order.push_back(&trial);
  std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return a->measurement.minMicroseconds < b->measurement.minMicroseconds;
  });
  std::vector<Schedule> finalists = {result.defaultSchedule};
  auto add = [&](const Schedule &schedule) {
    if (std::find(finalists.begin(), finalists.end(), schedule) ==
        finalists.end())
      finalists.push_back(schedule);
  };
  add(result.fixedSchedule);
  for (size_t i = 0; i < order.size() && int64_t(i) < options.finalists; ++i)
    add(order[i]->schedule);
  std::vector<Built> built = build(finalists);
  std::vector<std::vector<double>> times(built.size());
  for (int64_t round = 0; round < options.finalRounds; ++round) {
    std::vector<Measurement> measured = measureAll(built, false, 0);
    for (size_t i = 0; i < built.size(); ++i)
      if (measured[i].isOk())
        times[i].push_back(measured[i].minMicroseconds);
  }
  auto median = [&](size_t i) {
    std::vector<double> &list = times[i];
    if (list.empty())
      return 0.0;
    std::sort(list.begin(), list.end());
    return list[list.size() / 2];
  };
  result.defaultMicroseconds = median(0);
  result.bestSchedule = result.defaultSchedule;
  result.bestMicroseconds = result.defaultMicroseconds;
  for (size_t i = 0; i < built.size(); ++i) {
    double time = median(i);
    if (built[i].schedule == result.fixedSchedule)
      result.fixedMicroseconds = time;
    if (time > 0 && time < result.bestMicroseconds) {
      result.bestMicroseconds = time;
      result.bestSchedule = built[i].schedule;
    }
  }
}

TuneResult Tuner::run(const StrategyInfo &info,
                      const std::function<void(int64_t)> &progress) {
  Space space(task, options.target, options.schedule);
  std::unique_ptr<Strategy> strategy = info.make(space, options.seed);
  result.defaultSchedule =
      defaultSchedule(task, options.target, options.schedule);
  result.fixedSchedule = ::tlm::fixedSchedule(space, options.target);
  std::set<std::string> seen;
  std::vector<Schedule> batch;
  auto add = [&](Schedule schedule) {
    bool isNew = seen.insert(schedule.text()).second;
    if (isNew)
      batch.push_back(std::move(schedule));
    return isNew;
  };
  add(result.defaultSchedule);
  add(result.fixedSchedule);
  double cutOff = 0;
  while (!batch.empty()) {
    std::vector<Built> built = build(std::move(batch));
    batch.clear();
    std::vector<Measurement> measured = measureAll(built, true, cutOff);
    for (size_t i = 0; i < built.size(); ++i) {
      strategy->observe(built[i].schedule, measured[i]);
      result.trials.push_back({built[i].schedule, std::move(measured[i])});
    }
    if (cutOff == 0 && result.trials[0].measurement.isOk())
      cutOff = 10 * result.trials[0].measurement.minMicroseconds;
    if (progress)
      progress(int64_t(result.trials.size()));
    // A space may be smaller than the budget: proposals that are all known
    // end the search.
    int64_t left = options.trials - int64_t(result.trials.size());
    for (int attempt = 0; attempt < 20 && left > int64_t(batch.size());
         ++attempt) {
      int64_t wanted = std::min(left, options.batch) - int64_t(batch.size());
      if (wanted <= 0)
        break;
      for (Schedule &schedule : strategy->propose(size_t(wanted)))
        add(std::move(schedule));
    }
  }
  final();
  return std::move(result);
}

TuneResult tlm::tuneTask(const Task &task, const StrategyInfo &strategy,
                         const TuneOptions &options,
                         const std::function<void(int64_t)> &progress) {
  return Tuner(task, options).run(strategy, progress);
}
