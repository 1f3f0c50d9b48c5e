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
  std::optional<Measurement> remembered(const Schedule &schedule,
                                        int64_t rounds);
  void remember(const std::vector<Trial> &trials);
  std::vector<Trial> tryBatch(std::vector<Schedule> batch, double cutOff);
  std::vector<Trial> finalists() const;
  void measureInTurn(std::vector<Trial> &trials);
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

std::optional<Measurement> Tuner::remembered(const Schedule &schedule,
                                             int64_t rounds) {
  if (!options.log)
    return std::nullopt;
  return options.log->find(schedule, int32_t(rounds));
}

void Tuner::remember(const std::vector<Trial> &trials) {
  if (options.log && !trials.empty())
    options.log->add(trials);
}

// What the log knows is taken from there, the others are built and measured.
std::vector<Trial> Tuner::tryBatch(std::vector<Schedule> batch, double cutOff) {
  std::vector<Trial> trials;
  std::vector<Schedule> unknown;
  std::vector<size_t> places;
  for (Schedule &schedule : batch) {
    std::optional<Measurement> known = remembered(schedule, 1);
    result.remembered += known.has_value();
    if (!known) {
      places.push_back(trials.size());
      unknown.push_back(schedule);
    }
    trials.push_back({std::move(schedule), known.value_or(Measurement()),
                      int64_t(result.trials.size() + trials.size())});
  }
  std::vector<Built> built = build(std::move(unknown));
  std::vector<Measurement> measured = measureAll(built, true, cutOff);
  std::vector<Trial> added;
  for (size_t i = 0; i < places.size(); ++i) {
    trials[places[i]].measurement = std::move(measured[i]);
    added.push_back(trials[places[i]]);
  }
  remember(added);
  return trials;
}

static double medianOf(std::vector<double> list) {
  if (list.empty())
    return 0;
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}

// The default, the fixed schedule and the best ones.
std::vector<Trial> Tuner::finalists() const {
  std::vector<const Trial *> order;
  for (const Trial &trial : result.trials)
    if (trial.measurement.isOk())
      order.push_back(&trial);
  std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return a->measurement.minMicroseconds < b->measurement.minMicroseconds;
  });
  std::vector<Trial> finalists;
  auto add = [&](const Trial &trial) {
    for (const Trial &other : finalists)
      if (other.schedule == trial.schedule)
        return;
    finalists.push_back(trial);
  };
  for (const Trial &trial : result.trials)
    if (trial.schedule == result.defaultSchedule ||
        trial.schedule == result.fixedSchedule)
      add(trial);
  for (size_t i = 0; i < order.size() && int64_t(i) < options.finalists; ++i)
    add(*order[i]);
  return finalists;
}

// One after the other, as often as there are rounds; the medians over them.
void Tuner::measureInTurn(std::vector<Trial> &trials) {
  std::vector<Schedule> schedules;
  for (const Trial &trial : trials)
    schedules.push_back(trial.schedule);
  std::vector<Built> built = build(std::move(schedules));
  std::vector<std::vector<Measurement>> good(trials.size());
  for (int64_t round = 0; round < options.finalRounds; ++round) {
    std::vector<Measurement> measured = measureAll(built, false, 0);
    for (size_t i = 0; i < trials.size(); ++i)
      if (measured[i].isOk())
        good[i].push_back(measured[i]);
  }
  for (size_t i = 0; i < trials.size(); ++i) {
    auto median = [&](double Measurement::*field) {
      std::vector<double> list;
      for (const Measurement &each : good[i])
        list.push_back(each.*field);
      return medianOf(list);
    };
    Measurement &all = trials[i].measurement;
    all.minMicroseconds = median(&Measurement::minMicroseconds);
    all.medianMicroseconds = median(&Measurement::medianMicroseconds);
    all.slowdown = median(&Measurement::slowdown);
    all.rounds = int32_t(good[i].size());
    all.samples = 0;
    for (const Measurement &each : good[i])
      all.samples += each.samples;
  }
  std::vector<Trial> added;
  for (const Trial &trial : trials)
    if (trial.measurement.isOk() && trial.measurement.rounds > 0)
      added.push_back(trial);
  remember(added);
}

void Tuner::final() {
  std::vector<Trial> trials = finalists();
  std::vector<Trial> known;
  for (const Trial &trial : trials)
    if (std::optional<Measurement> measurement =
            remembered(trial.schedule, options.finalRounds))
      known.push_back({trial.schedule, *measurement, trial.number});
  // Some times from an earlier final and some from this one are no comparison.
  if (known.size() == trials.size())
    trials = std::move(known);
  else
    measureInTurn(trials);
  result.bestSchedule = result.defaultSchedule;
  for (const Trial &trial : trials) {
    double time =
        trial.measurement.isOk() ? trial.measurement.minMicroseconds : 0;
    if (trial.schedule == result.defaultSchedule)
      result.defaultMicroseconds = time;
    if (trial.schedule == result.fixedSchedule)
      result.fixedMicroseconds = time;
  }
  result.bestMicroseconds = result.defaultMicroseconds;
  for (const Trial &trial : trials) {
    double time =
        trial.measurement.isOk() ? trial.measurement.minMicroseconds : 0;
    if (time > 0 && time < result.bestMicroseconds) {
      result.bestMicroseconds = time;
      result.bestSchedule = trial.schedule;
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
    for (Trial &trial : tryBatch(std::move(batch), cutOff)) {
      strategy->observe(trial.schedule, trial.measurement);
      result.trials.push_back(std::move(trial));
    }
    batch.clear();
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
  if (options.finalRounds > 0)
    final();
  return std::move(result);
}

TuneResult tlm::tuneTask(const Task &task, const StrategyInfo &strategy,
                         const TuneOptions &options,
                         const std::function<void(int64_t)> &progress) {
  return Tuner(task, options).run(strategy, progress);
}
