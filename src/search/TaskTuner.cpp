#include "search/TaskTuner.h"

#include "space/DefaultSchedule.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <optional>
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
    case Decision::CacheTile:
      value = *std::max_element(point.choices.begin(), point.choices.end());
      break;
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

TaskTuner::TaskTuner(const Task &task, const StrategyInfo &info,
                     const TuneOptions &options, TaskContext context)
    : task(task), options(options),
      space(task, options.target, options.schedule),
      strategy(info.make({task, options.target, space, options.schedule,
                          options.seed, context.known, context.model,
                          context.written})),
      measurer(options.measure), context(std::move(context)) {
  found.defaultSchedule =
      defaultSchedule(task, options.target, options.schedule);
  found.fixedSchedule = ::tlm::fixedSchedule(space, options.target);
  auto add = [&](const Schedule &schedule) {
    if (seen.insert(schedule))
      waiting.push_back(schedule);
  };
  add(found.defaultSchedule);
  add(found.fixedSchedule);
  for (const Schedule &schedule : this->context.given)
    add(schedule);
  for (const Trial &trial : this->context.observed)
    if (seen.insert(trial.schedule))
      strategy->observe(trial.schedule, trial.measurement);
}

std::vector<TaskTuner::Built>
TaskTuner::build(std::vector<Schedule> schedules) {
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
  found.buildSeconds += secondsSince(begin);
  return built;
}

// `measured` is told of each one as soon as it has an outcome.
std::vector<Measurement> TaskTuner::measureAll(
    const std::vector<Built> &built, bool check,
    const std::function<void(size_t, const Measurement &)> &measured) {
  Clock::time_point begin = Clock::now();
  std::vector<Measurement> measurements(built.size());
  std::vector<Candidate> candidates;
  std::vector<size_t> places;
  for (size_t i = 0; i < built.size(); ++i) {
    if (!*built[i].kernel) {
      measurements[i].outcome = Outcome::Rejected;
      measurements[i].detail = built[i].kernel->error().message;
      if (measured)
        measured(i, measurements[i]);
      continue;
    }
    candidates.push_back(
        {&task, &**built[i].kernel, check, check ? cutOff : 0});
    places.push_back(i);
  }
  measurer.measure(candidates, [&](size_t i, const Measurement &measurement) {
    measurements[places[i]] = measurement;
    if (measured)
      measured(places[i], measurement);
  });
  found.measureSeconds += secondsSince(begin);
  return measurements;
}

// The default schedule first, alone or with those that are given: the others
// are cut off by its time. Then whole batches are asked for, whatever is left
// of the budget: a longer search begins as the shorter one did.
std::vector<Schedule> TaskTuner::proposals(int64_t most) {
  auto wanted = size_t(options.batch);
  // A space may be smaller than the budget: proposals that are all known end
  // the search.
  bool asks = begun && waiting.empty();
  for (int attempt = 0; asks && attempt < 20 && waiting.size() < wanted;
       ++attempt) {
    std::vector<Schedule> proposed = strategy->propose(wanted - waiting.size());
    asks = !proposed.empty();
    for (Schedule &schedule : proposed)
      if (seen.insert(schedule))
        waiting.push_back(std::move(schedule));
  }
  begun = true;
  auto count = std::min(size_t(most), waiting.size());
  auto end = waiting.begin() + std::ptrdiff_t(count);
  std::vector<Schedule> batch(std::make_move_iterator(waiting.begin()),
                              std::make_move_iterator(end));
  waiting.erase(waiting.begin(), end);
  return batch;
}

// What the log knows is taken from there, the others are built and measured.
std::vector<Trial> TaskTuner::tryBatch(std::vector<Schedule> batch) {
  std::vector<Trial> trials;
  std::vector<Schedule> unknown;
  std::vector<size_t> places;
  for (Schedule &schedule : batch) {
    std::optional<Measurement> known;
    if (context.log)
      known = context.log->find(schedule, /*rounds=*/1);
    found.remembered += known.has_value();
    if (!known) {
      places.push_back(trials.size());
      unknown.push_back(schedule);
    }
    trials.push_back({std::move(schedule), known.value_or(Measurement()),
                      int64_t(found.trials.size() + trials.size())});
  }
  std::vector<Built> built = build(std::move(unknown));
  measureAll(built, /*check=*/true,
             [&](size_t i, const Measurement &measurement) {
               Trial &trial = trials[places[i]];
               trial.measurement = measurement;
               if (context.log)
                 context.log->add({trial});
             });
  return trials;
}

int64_t TaskTuner::round(int64_t most) {
  std::vector<Trial> trials = tryBatch(proposals(most));
  last = 0;
  for (Trial &trial : trials) {
    strategy->observe(trial.schedule, trial.measurement);
    double time =
        trial.measurement.isOk() ? trial.measurement.minMicroseconds : 0;
    if (time > 0 && (last == 0 || time < last))
      last = time;
    if (time > 0 && (fastest == 0 || time < fastest)) {
      fastest = time;
      fastestTrial = found.trials.size();
    }
    found.trials.push_back(std::move(trial));
  }
  if (cutOff == 0 && !found.trials.empty() &&
      found.trials[0].measurement.isOk())
    cutOff = 10 * found.trials[0].measurement.minMicroseconds;
  lastCount = int64_t(trials.size());
  return lastCount;
}

int64_t TaskTuner::trialsWithoutGain() const {
  return found.trials.empty() ? 0
                              : int64_t(found.trials.size() - 1 - fastestTrial);
}

static double medianOf(std::vector<double> list) {
  if (list.empty())
    return 0;
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}

double Finalist::median() const { return medianOf(microseconds); }

// The default, the fixed and the given schedules, and the best ones.
std::vector<Trial> TaskTuner::finalists() const {
  std::vector<const Trial *> order;
  for (const Trial &trial : found.trials)
    if (trial.measurement.isOk())
      order.push_back(&trial);
  std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return a->measurement.minMicroseconds < b->measurement.minMicroseconds;
  });
  std::vector<Trial> chosen;
  auto add = [&](const Trial &trial) {
    for (const Trial &other : chosen)
      if (other.schedule == trial.schedule)
        return;
    chosen.push_back(trial);
  };
  auto isSure = [&](const Schedule &schedule) {
    return schedule == found.defaultSchedule ||
           schedule == found.fixedSchedule ||
           std::find(context.given.begin(), context.given.end(), schedule) !=
               context.given.end();
  };
  for (const Trial &trial : found.trials)
    if (isSure(trial.schedule))
      add(trial);
  for (size_t i = 0; i < order.size() && int64_t(i) < options.finalists; ++i)
    add(*order[i]);
  return chosen;
}

// Some times from an earlier final and some from this one are no comparison:
// all of them, or none.
bool TaskTuner::recallFinal(const std::vector<Trial> &trials) {
  std::vector<Finalist> recalled;
  for (const Trial &trial : trials) {
    std::optional<Measurement> known;
    if (context.log)
      known = context.log->find(trial.schedule, int32_t(options.finalRounds));
    if (!known)
      return false;
    recalled.push_back({trial.schedule, {known->minMicroseconds}});
  }
  found.finalists = std::move(recalled);
  return true;
}

// One after the other, as often as there are rounds; the log gets the medians
// over them.
void TaskTuner::measureInTurn(std::vector<Trial> trials) {
  std::vector<Schedule> schedules;
  for (const Trial &trial : trials)
    schedules.push_back(trial.schedule);
  std::vector<Built> built = build(std::move(schedules));
  std::vector<std::vector<Measurement>> good(trials.size());
  for (int64_t round = 0; round < options.finalRounds; ++round) {
    std::vector<Measurement> measured = measureAll(built, /*check=*/false);
    for (size_t i = 0; i < trials.size(); ++i)
      if (measured[i].isOk())
        good[i].push_back(measured[i]);
  }
  std::vector<Trial> added;
  for (size_t i = 0; i < trials.size(); ++i) {
    auto listOf = [&](double Measurement::*field) {
      std::vector<double> list;
      for (const Measurement &each : good[i])
        list.push_back(each.*field);
      return list;
    };
    Finalist finalist = {trials[i].schedule,
                         listOf(&Measurement::minMicroseconds)};
    Measurement &all = trials[i].measurement;
    all.minMicroseconds = finalist.median();
    all.medianMicroseconds = medianOf(listOf(&Measurement::medianMicroseconds));
    all.slowdown = medianOf(listOf(&Measurement::slowdown));
    all.rounds = int32_t(good[i].size());
    all.samples = 0;
    for (const Measurement &each : good[i])
      all.samples += each.samples;
    if (all.isOk() && all.rounds > 0)
      added.push_back(trials[i]);
    found.finalists.push_back(std::move(finalist));
  }
  if (context.log && !added.empty())
    context.log->add(added);
}

void TaskTuner::finish() {
  if (options.finalRounds <= 0) {
    finishUnmeasured();
    return;
  }
  std::vector<Trial> trials = finalists();
  if (!recallFinal(trials))
    measureInTurn(std::move(trials));
  found.bestSchedule = found.defaultSchedule;
  for (const Finalist &finalist : found.finalists) {
    if (finalist.schedule == found.defaultSchedule)
      found.bestMicroseconds = found.defaultMicroseconds = finalist.median();
    if (finalist.schedule == found.fixedSchedule)
      found.fixedMicroseconds = finalist.median();
  }
  for (const Finalist &finalist : found.finalists) {
    double time = finalist.median();
    if (time > 0 &&
        (found.bestMicroseconds == 0 || time < found.bestMicroseconds)) {
      found.bestMicroseconds = time;
      found.bestSchedule = finalist.schedule;
    }
  }
}

void TaskTuner::finishUnmeasured() {
  found.bestSchedule = found.defaultSchedule;
  for (const Trial &trial : found.trials) {
    double time =
        trial.measurement.isOk() ? trial.measurement.minMicroseconds : 0;
    if (trial.schedule == found.defaultSchedule)
      found.defaultMicroseconds = time;
    if (trial.schedule == found.fixedSchedule)
      found.fixedMicroseconds = time;
    if (time > 0 &&
        (found.bestMicroseconds == 0 || time < found.bestMicroseconds)) {
      found.bestMicroseconds = time;
      found.bestSchedule = trial.schedule;
    }
  }
}
