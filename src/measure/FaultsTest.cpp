//===- FaultsTest.cpp - whatever a candidate does, it is an outcome -------===//

#include "measure/Measure.h"

#include "base/AtomicFile.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <span>
#include <sys/wait.h>
#include <unistd.h>

using namespace tlm;

namespace {

Task relu() {
  Result<Task> task = parseTask("tlm-task 1\nkind pointwise\n"
                                "operand input f32 plain[1,1024]\n"
                                "operand output f32 plain[1,1024]\n"
                                "point relu acc\n");
  EXPECT_TRUE(task) << task.error().message;
  return std::move(*task);
}

/// A hand-made kernel (testdata/Faults.cpp).
Kernel kernel(const std::string &symbol) {
  static const std::string object = *readWholeFile(TLM_FAULTS_OBJECT);
  Kernel kernel;
  kernel.stages = {{symbol, 1}};
  kernel.packings.resize(2);
  kernel.object.assign(object.begin(), object.end());
  return kernel;
}

MeasureOptions quickOptions() {
  MeasureOptions options;
  options.timing.seconds = options.timing.warmupSeconds = 0.0002;
  options.timing.coldBytes = 1 << 20;
  options.secondsLimit = 0.5;
  options.memoryBytes = int64_t(512) << 20;
  return options;
}

size_t openFiles() {
  std::filesystem::directory_iterator files("/proc/self/fd"), end;
  return size_t(std::distance(files, end)) - 1; // its own
}

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// Files in a folder.
size_t leftovers(const std::filesystem::path &folder) {
  std::filesystem::directory_iterator files(folder), end;
  return size_t(std::distance(files, end));
}

struct Fault {
  const char *symbol;
  Outcome outcome;
  const char *detail; ///< a part of it
};

/// In one batch, with good candidates between.
constexpr Fault kQuickFaults[] = {
    {"fault_segfault", Outcome::Crashed, "Segmentation fault"},
    {"fault_wrong", Outcome::WrongValues, "expected"},
    {"fault_unwritten", Outcome::WrongValues, ""},
    {"fault_nan", Outcome::WrongValues, "nan"},
    {"fault_exit", Outcome::Exited, "exit status 0"},
    {"fault_exit_seven", Outcome::Exited, "exit status 7"},
    {"fault_abort", Outcome::Crashed, "Aborted"},
    {"fault_illegal", Outcome::Crashed, "Illegal instruction"},
    {"fault_close", Outcome::Exited, "exit status 1"},
    {"fault_scribble", Outcome::Exited, "exit status 0"},
    {"fault_recurse", Outcome::Crashed, "Segmentation fault"},
    {"fault_write_far", Outcome::Crashed, ""},
    {"fault_missing", Outcome::Unloadable, "fault_missing"},
};
constexpr Fault kSlowFaults[] = {
    {"fault_loop", Outcome::TimedOut, ""},
    {"fault_stop", Outcome::TimedOut, ""},
    {"fault_allocate_new", Outcome::OutOfMemory, ""},
    {"fault_allocate_malloc", Outcome::OutOfMemory, ""},
};

void expectFaults(std::span<const Fault> faults) {
  Task task = relu();
  Kernel good = kernel("fault_none");
  std::vector<Kernel> kernels;
  for (const Fault &fault : faults)
    kernels.push_back(kernel(fault.symbol));
  std::vector<Candidate> candidates = {{&task, &good}};
  for (const Kernel &bad : kernels) {
    candidates.push_back({&task, &bad});
    candidates.push_back({&task, &good});
  }
  std::vector<Measurement> results =
      Measurer(quickOptions()).measure(candidates);
  ASSERT_EQ(results.size(), candidates.size());
  for (size_t i = 0; i < results.size(); i += 2)
    EXPECT_EQ(results[i].outcome, Outcome::Ok)
        << "before " << (i / 2 < faults.size() ? faults[i / 2].symbol : "end")
        << ": " << results[i].detail;
  for (size_t i = 0; i < faults.size(); ++i) {
    const Measurement &result = results[2 * i + 1];
    EXPECT_EQ(result.outcome, faults[i].outcome)
        << faults[i].symbol << " " << nameOf(result.outcome) << " "
        << result.detail;
    EXPECT_NE(result.detail.find(faults[i].detail), std::string::npos)
        << faults[i].symbol << ": " << result.detail;
  }
}

} // namespace

TEST(Faults, EachIsTheOutcomeOfItsCandidate) { expectFaults(kQuickFaults); }

TEST(Faults, HangsAndAllocationsEndAtTheirLimits) { expectFaults(kSlowFaults); }

// One that overwrites what it can reach, or leaves a process behind, may come
// out as anything but must not reach what comes after it.
TEST(Faults, DamageStaysInTheChild) {
  Task task = relu();
  Kernel good = kernel("fault_none"), bad = kernel("fault_write_everywhere"),
         forks = kernel("fault_fork");
  std::vector<Measurement> results =
      Measurer(quickOptions())
          .measure(
              {{&task, &bad}, {&task, &good}, {&task, &forks}, {&task, &good}});
  EXPECT_EQ(results[1].outcome, Outcome::Ok) << results[1].detail;
  EXPECT_EQ(results[3].outcome, Outcome::Ok) << results[3].detail;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

// Thousands in a row leave nothing: memory is flat, and there is no zombie, no
// open file and no temporary file. TLM_FAULTS says how many.
TEST(Faults, LeaveNothingBehind) {
  const char *wanted = std::getenv("TLM_FAULTS");
  int64_t count = wanted ? std::atoll(wanted) : 400;
  std::filesystem::path folder =
      testing::TempDir() + "tlm-faults-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  setenv("TMPDIR", folder.c_str(), 1);
  Task task = relu();
  std::vector<Kernel> kernels = {kernel("fault_none")};
  for (const Fault &fault : kQuickFaults)
    kernels.push_back(kernel(fault.symbol));
  Measurer measurer(quickOptions());
  std::map<std::string, int64_t> outcomes;
  int64_t done = 0, memory = 0;
  auto run = [&](int64_t until) {
    while (done < until) {
      std::vector<Candidate> batch;
      for (int64_t i = 0; i < 50 && done < until; ++i, ++done)
        batch.push_back({&task, &kernels[size_t(done) % kernels.size()]});
      for (const Measurement &result : measurer.measure(batch))
        ++outcomes[std::string(nameOf(result.outcome))];
    }
  };
  run(count / 5);
  memory = residentBytes();
  size_t files = openFiles();
  run(count);
  int64_t more = residentBytes() - memory;
  EXPECT_LT(more, int64_t(4) << 20);
  EXPECT_EQ(openFiles(), files);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(leftovers(folder), 0u);
  std::filesystem::remove_all(folder);
  std::printf("faults: %s, %lld candidates, %lld KiB more memory, %zu files "
              "open before, %zu after:",
              HasFailure() ? "FAILED" : "OK", static_cast<long long>(count),
              static_cast<long long>(more >> 10), files, openFiles());
  for (const auto &[name, number] : outcomes)
    std::printf(" %s %lld", name.c_str(), static_cast<long long>(number));
  std::printf("\n");
}
