//===- SpaceSample.cpp ----------------------------------------------------===//

#include "SpaceSample.h"

#include "Progress.h"
#include "lower/KernelCheck.h"
#include "space/ScheduleChecker.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <map>
#include <mutex>
#include <thread>

namespace tlm {

namespace {

/// A model asks for tens of schedules of a task at most; a search for
/// thousands.
constexpr double kMostMicroseconds = 200;
/// Search and collection build thousands of kernels.
constexpr double kMostBuildSeconds = 5;
/// Kernels that are loaded with one link.
constexpr int64_t kBatch = 24;

double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

nlohmann::json sampleJson(const SpaceSampler &sampler, int64_t sample,
                          const std::string &what) {
  const Task &task = sampler.taskOf(sample);
  return {{"sample", sample},
          {"label", task.label()},
          {"task", task.text()},
          {"schedule", sampler.schedule(sample).text()},
          {"what", what}};
}

/// Samples that something is wrong with, by the kind of trouble.
class Findings {
public:
  void add(const SpaceSampler &sampler, int64_t sample,
           const std::string &reason, const std::string &what) {
    std::lock_guard lock(mutex);
    Kind &kind = kinds[reason];
    ++kind.count;
    ++total;
    if (list.size() < 200)
      list.push_back(sampleJson(sampler, sample, what));
    if (kind.examples.size() < 3)
      kind.examples.push_back(sampler.taskOf(sample).label() + ": " + what +
                              '\n' + sampler.schedule(sample).text());
  }
  void print(const char *title) const {
    for (const auto &[reason, kind] : kinds) {
      std::printf("%s %s: %lld\n", title, reason.c_str(),
                  static_cast<long long>(kind.count));
      for (const std::string &example : kind.examples)
        std::printf("%s", example.c_str());
    }
  }
  int64_t count() const { return total; }
  const nlohmann::json &json() const { return list; }

private:
  struct Kind {
    int64_t count = 0;
    std::vector<std::string> examples;
  };
  std::mutex mutex;
  std::map<std::string, Kind> kinds;
  nlohmann::json list = nlohmann::json::array();
  int64_t total = 0;
};

std::string firstLine(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

/// All legal, and each drawn and checked in time.
bool checkSamples(const SpaceSampler &sampler, const SampleOptions &options,
                  const GlobalOptions &global, nlohmann::json &report) {
  Findings illegal;
  double sum = 0, most = 0;
  {
    Progress progress(global, options.count);
    for (int64_t i = 0; i < options.count; ++i) {
      const Task &task = sampler.taskOf(i);
      double fastest = 1;
      // An interrupt is not the sampler's: what took long is tried again.
      for (int attempt = 0;
           attempt < 3 && fastest * 1e6 > (attempt ? kMostMicroseconds : 0);
           ++attempt) {
        double begin = threadSeconds();
        Schedule schedule = sampler.schedule(i);
        std::string reason = checkSchedule(task, options.target, schedule);
        fastest = std::min(fastest, threadSeconds() - begin);
        if (attempt)
          continue;
        if (!reason.empty())
          illegal.add(sampler, i, reason, "checker: " + reason);
        else if (Status status = sampler.spaceOf(i).check(schedule); !status)
          illegal.add(sampler, i, firstLine(status.error().message),
                      "space: " + status.error().message);
      }
      sum += fastest;
      most = std::max(most, fastest);
      progress.update(i + 1, "schedules checked, " +
                                 std::to_string(illegal.count()) + " illegal");
    }
  }
  double mean = sum / double(options.count) * 1e6;
  most *= 1e6;
  illegal.print("illegal:");
  std::printf("checked %lld schedules: %lld legal, %.1f us each, at most %.0f "
              "us (allowed: %.0f)\n",
              static_cast<long long>(options.count),
              static_cast<long long>(options.count - illegal.count()), mean,
              most, kMostMicroseconds);
  report["check"] = {{"count", options.count},
                     {"legal", options.count - illegal.count()},
                     {"mean_us", mean},
                     {"max_us", most},
                     {"illegal", illegal.json()}};
  return illegal.count() == 0 && most <= kMostMicroseconds;
}

/// Builds samples batch by batch on several threads; runs each batch.
class Builder {
public:
  Builder(const SpaceSampler &sampler, const SampleOptions &options,
          const GlobalOptions &global)
      : sampler(sampler), options(options), progress(global, options.count) {}

  void work();
  bool finish(nlohmann::json &report);

private:
  void batch(int64_t begin, int64_t end);

  const SpaceSampler &sampler;
  const SampleOptions &options;
  Progress progress;
  std::mutex mutex;
  std::atomic<int64_t> next{0}, done{0};
  int64_t built = 0, right = 0, points = 0;
  double sum = 0, most = 0;
  Findings rejected, wrong, slow;
};

} // namespace

void Builder::work() {
  for (int64_t begin; (begin = next.fetch_add(kBatch)) < options.count;)
    batch(begin, std::min(options.count, begin + kBatch));
}

void Builder::batch(int64_t begin, int64_t end) {
  std::vector<Kernel> kernels;
  std::vector<int64_t> samples;
  for (int64_t i = begin; i < end; ++i) {
    double start = threadSeconds();
    Result<Kernel> kernel = lowerTask(sampler.taskOf(i), sampler.schedule(i),
                                      options.target, "k" + std::to_string(i));
    double seconds = threadSeconds() - start;
    {
      std::lock_guard lock(mutex);
      sum += seconds;
      most = std::max(most, seconds);
    }
    if (seconds > kMostBuildSeconds)
      slow.add(sampler, i, std::string(nameOf(sampler.taskOf(i).kind)),
               std::to_string(seconds) + " s");
    if (!kernel) {
      rejected.add(sampler, i,
                   std::string(nameOf(sampler.taskOf(i).kind)) + ": " +
                       firstLine(kernel.error().message),
                   kernel.error().message);
    } else {
      kernels.push_back(std::move(*kernel));
      samples.push_back(i);
    }
    progress.update(++done, "built, " + std::to_string(rejected.count()) +
                                " rejected, " + std::to_string(wrong.count()) +
                                " wrong");
  }
  std::vector<KernelVerdict> verdicts;
  if (options.run && !kernels.empty()) {
    std::vector<KernelToCheck> list;
    for (size_t i = 0; i < kernels.size(); ++i)
      list.push_back({&sampler.taskOf(samples[i]), &kernels[i]});
    Result<std::vector<KernelVerdict>> checked = checkKernels(list, 1);
    if (!checked) {
      wrong.add(sampler, samples[0], "load", checked.error().message);
      return;
    }
    verdicts = std::move(*checked);
  }
  for (size_t i = 0; i < verdicts.size(); ++i)
    if (!verdicts[i].wrong.empty())
      wrong.add(sampler, samples[i],
                std::string(nameOf(sampler.taskOf(samples[i]).kind)),
                verdicts[i].wrong);
  std::lock_guard lock(mutex);
  built += int64_t(kernels.size());
  for (const KernelVerdict &verdict : verdicts) {
    right += verdict.wrong.empty();
    points += verdict.points;
  }
}

bool Builder::finish(nlohmann::json &report) {
  rejected.print("rejected:");
  wrong.print("wrong:");
  slow.print("slow to build:");
  std::printf("built %lld of %lld schedules, %.2f s each, at most %.2f s "
              "(allowed: %.0f)\n",
              static_cast<long long>(built),
              static_cast<long long>(options.count),
              sum / double(options.count), most, kMostBuildSeconds);
  if (options.run)
    std::printf("ran %lld kernels: %lld right at %lld output points\n",
                static_cast<long long>(built), static_cast<long long>(right),
                static_cast<long long>(points));
  report["build"] = {{"count", options.count},
                     {"built", built},
                     {"mean_seconds", sum / double(options.count)},
                     {"max_seconds", most},
                     {"rejected", rejected.json()},
                     {"slow", slow.json()},
                     {"right", right},
                     {"points", points},
                     {"wrong", wrong.json()}};
  return rejected.count() + wrong.count() + slow.count() == 0;
}

SpaceSampler::SpaceSampler(const std::vector<Task> &tasks, const Target &target,
                           const ScheduleOptions &options, uint64_t seed)
    : tasks(tasks), seed(seed) {
  std::map<TaskKind, std::vector<size_t>> byKind;
  for (size_t i = 0; i < tasks.size(); ++i) {
    spaces.emplace_back(tasks[i], target, options);
    byKind[tasks[i].kind].push_back(i);
  }
  for (auto &[kind, list] : byKind)
    kinds.push_back(std::move(list));
}

size_t SpaceSampler::indexOf(int64_t sample) const {
  const std::vector<size_t> &list = kinds[size_t(sample) % kinds.size()];
  return list[size_t(sample) / kinds.size() % list.size()];
}

Schedule SpaceSampler::schedule(int64_t sample) const {
  Random random(Random(seed + uint64_t(sample)).next());
  return spaceOf(sample).sample(random);
}

Status trySamples(const SpaceSampler &sampler, const SampleOptions &options,
                  const GlobalOptions &global, nlohmann::json &report) {
  bool good = true;
  if (options.check)
    good &= checkSamples(sampler, options, global, report);
  if (options.build || options.run) {
    Builder builder(sampler, options, global);
    std::vector<std::thread> threads;
    for (int64_t i = 1; i < options.jobs; ++i)
      threads.emplace_back([&] { builder.work(); });
    builder.work();
    for (std::thread &thread : threads)
      thread.join();
    good &= builder.finish(report);
  }
  report["ok"] = good;
  std::printf("space sample: %s\n", good ? "OK" : "FAILED");
  return good ? success()
              : makeError("the space does not keep its promises", {},
                          ErrorCode::Mismatch);
}

} // namespace tlm
