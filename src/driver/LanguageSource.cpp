//===- LanguageSource.cpp - the phases of the language model --------------===//

#include "driver/LanguageSource.h"

#include "driver/SelfCheck.h"
#include "measure/Measure.h"
#include "space/DefaultSchedule.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace tlm {
namespace {

/// Every kernel is timed so often, in turn with the others: now and then one
/// time is far off.
constexpr int kRounds = 3;

/// A schedule that is measured, and its kernel.
struct Contender {
  size_t task = 0;
  Schedule schedule;
  std::optional<Result<Kernel>> kernel;
  Measurement measurement;
};

/// The best answers of every task that has some, and its default schedule.
std::vector<Contender> contendersOf(const CompileOptions &options,
                                    std::span<const Task> tasks,
                                    const std::vector<ChosenSchedule> &chosen) {
  std::vector<Contender> contenders;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (chosen[i].source != ScheduleSource::Model)
      continue;
    const std::vector<WrittenSchedule> &answers = chosen[i].written->answers;
    Schedule byRules =
        defaultSchedule(tasks[i], options.target, options.schedule);
    size_t count = std::min(answers.size(), size_t(options.measured));
    contenders.push_back({i, byRules, {}, {}});
    for (size_t k = 0; k < count; ++k)
      if (!(answers[k].schedule == byRules))
        contenders.push_back({i, answers[k].schedule, {}, {}});
  }
  return contenders;
}

void lowerAll(const CompileOptions &options, std::span<const Task> tasks,
              std::vector<Contender> &contenders) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < contenders.size();) {
      Contender &each = contenders[i];
      each.kernel.emplace(lowerTask(tasks[each.task], each.schedule,
                                    options.target, kernelPrefix(each.task),
                                    {}));
    }
  };
  int64_t jobs = options.jobs ? options.jobs : usableCpus();
  std::vector<std::thread> workers;
  for (int64_t i = 1; i < std::min(jobs, int64_t(contenders.size())); ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
}

/// The least time of the rounds, or the first failure.
void measureAll(const CompileOptions &options, std::span<const Task> tasks,
                std::vector<Contender> &contenders) {
  std::vector<Candidate> candidates;
  std::vector<Contender *> measured;
  for (Contender &each : contenders) {
    if (!*each.kernel) {
      each.measurement.outcome = Outcome::Rejected;
      each.measurement.detail = each.kernel->error().message;
      continue;
    }
    candidates.push_back({&tasks[each.task], &**each.kernel, true, 0});
    measured.push_back(&each);
  }
  size_t count = candidates.size();
  for (int round = 1; round < kRounds; ++round)
    for (size_t i = 0; i < count; ++i) {
      candidates.push_back(candidates[i]);
      candidates.back().check = false;
    }
  MeasureOptions measureOptions;
  measureOptions.threads = int(options.target.threads);
  Measurer measurer(measureOptions);
  std::vector<Measurement> results = measurer.measure(candidates);
  for (size_t i = 0; i < results.size(); ++i) {
    Measurement &sofar = measured[i % count]->measurement;
    if (i < count ||
        (sofar.isOk() && (!results[i].isOk() ||
                          results[i].minMicroseconds < sofar.minMicroseconds)))
      sofar = results[i];
  }
}

/// The contenders [begin, end) of one task: the fastest is chosen, the default
/// schedule where none ran.
void choose(const Contender *begin, const Contender *end,
            ChosenSchedule &chosen) {
  const Contender *best = begin;
  MeasuredChoice report;
  for (const Contender *each = begin; each != end; ++each) {
    if (!each->measurement.isOk()) {
      ++report.failed;
      continue;
    }
    if (!best->measurement.isOk() ||
        each->measurement.minMicroseconds < best->measurement.minMicroseconds)
      best = each;
  }
  report.candidates = int64_t(end - begin);
  report.microseconds = best->measurement.minMicroseconds;
  report.defaultMicroseconds = begin->measurement.minMicroseconds;
  size_t answers = chosen.written->answers.size();
  chosen.schedule = best->schedule;
  // An answer that says the default schedule is the model's all the same.
  for (size_t k = 0; k < answers; ++k)
    if (chosen.written->answers[k].schedule == best->schedule) {
      chosen.answer = k;
      chosen.measured = report;
      return;
    }
  chosen.source = ScheduleSource::Default;
  chosen.measured = report;
}

} // namespace

Result<InferenceReport> writeSchedules(const CompileOptions &options,
                                       std::span<const Task> tasks,
                                       std::vector<ChosenSchedule> &chosen) {
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  InferenceReport report;
  auto begin = Clock::now();
  Result<ScheduleWriter> writer = ScheduleWriter::load(*options.writer);
  report.loadSeconds = seconds(begin);
  if (!writer && options.writer->isOptional) {
    report.unusable = "the language model of this installation cannot be used, "
                      "schedules are by default rules: " +
                      writer.error().message;
    return report;
  }
  if (!writer)
    return writer.error();

  std::vector<const Task *> asked;
  std::vector<ChosenSchedule *> answered;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (chosen[i].source == ScheduleSource::Default) {
      asked.push_back(&tasks[i]);
      answered.push_back(&chosen[i]);
    }
  begin = Clock::now();
  int64_t jobs = options.jobs ? options.jobs : usableCpus();
  std::vector<WrittenSchedules> written =
      writer->write(asked, options.target, options.schedule, int(jobs));
  report.writeSeconds = seconds(begin);
  for (size_t i = 0; i < written.size(); ++i) {
    report.tokensRead += written[i].tokensRead;
    report.tokensWritten += written[i].tokensWritten;
    ChosenSchedule &each = *answered[i];
    if (!written[i].answers.empty()) {
      each.schedule = written[i].answers[0].schedule;
      each.source = ScheduleSource::Model;
      ++report.written;
    } else if (!written[i].refused.empty()) {
      if (report.refused++ == 0)
        report.firstRefusal = asked[i]->label() + ": " + written[i].refused;
    } else {
      ++report.withoutDecision;
      continue;
    }
    each.written = std::move(written[i]);
  }
  return report;
}

std::string InferenceReport::text() const {
  if (!unusable.empty())
    return "none: the weights cannot be used";
  char time[80];
  std::snprintf(time, sizeof(time), "%lld + %lld tokens in %.3f s",
                static_cast<long long>(tokensRead),
                static_cast<long long>(tokensWritten), writeSeconds);
  std::string text =
      std::to_string(written) + " by the language model, " + time;
  if (withoutDecision)
    text += ", " + std::to_string(withoutDecision) + " have nothing to decide";
  if (refused)
    text += ", " + std::to_string(refused) +
            " stay with default rules: " + firstRefusal;
  return text;
}

Result<std::string> measureSchedules(const CompileOptions &options,
                                     std::span<const Task> tasks,
                                     std::vector<ChosenSchedule> &chosen) {
  if (std::string missing = missingFeature(options.target); !missing.empty())
    return makeError("--measure cannot run kernels that need " + missing +
                         ", which this machine lacks",
                     "measure on a machine of the target, or leave it out",
                     ErrorCode::Machine);
  std::vector<Contender> contenders = contendersOf(options, tasks, chosen);
  lowerAll(options, tasks, contenders);
  measureAll(options, tasks, contenders);
  size_t count = 0, byRules = 0;
  for (size_t begin = 0; begin < contenders.size(); ++count) {
    size_t end = begin;
    while (end < contenders.size() &&
           contenders[end].task == contenders[begin].task)
      ++end;
    ChosenSchedule &each = chosen[contenders[begin].task];
    choose(&contenders[begin], contenders.data() + end, each);
    byRules += each.source == ScheduleSource::Default;
    begin = end;
  }
  return std::to_string(contenders.size()) + " candidates of " +
         std::to_string(count) +
         " kernels; the default schedule is the "
         "fastest of " +
         std::to_string(byRules);
}

} // namespace tlm
