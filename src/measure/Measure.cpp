#include "measure/Measure.h"

#include "lower/KernelCheck.h"
#include "measure/Child.h"
#include "target/Target.h"

extern "C" {
#include "runtime/Pool.h"
}

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

using namespace tlm;

namespace {

/// What comes through the pipe; a Measurement without its string.
struct Record {
  uint64_t candidate = 0;
  Outcome outcome = Outcome::Ok;
  int32_t samples = 0;
  double minMicroseconds = 0, medianMicroseconds = 0;
  double slowdown = 1, calibration = 0;
  char detail[200] = {};

  void setDetail(const std::string &text) {
    size_t length = std::min(text.size(), sizeof detail - 1);
    std::memcpy(detail, text.data(), length);
    detail[length] = 0;
  }
};

/// Whether a child that nothing happened to could have sent it.
bool isSane(const Record &record) {
  for (double value :
       {record.minMicroseconds, record.medianMicroseconds, record.slowdown})
    if (!std::isfinite(value) || value < 0)
      return false;
  // Before anything was timed there is no calibration: it is infinite.
  bool isTimed = record.minMicroseconds > 0 && record.samples > 0 &&
                 std::isfinite(record.calibration) &&
                 record.medianMicroseconds >= record.minMicroseconds;
  return nameOf(record.outcome) != "?" && record.samples >= 0 &&
         record.slowdown >= 1 && record.calibration > 0 &&
         (record.outcome != Outcome::Ok || isTimed);
}

Record measureHere(const Candidate &candidate, const MeasureOptions &options,
                   Calibration &calibration, TlmPool *pool) {
  Record record;
  Result<LoadedKernel> loaded = LoadedKernel::load(*candidate.kernel);
  if (!loaded) {
    record.outcome = Outcome::Unloadable;
    record.setDetail(loaded.error().message);
    return record;
  }
  if (candidate.check) {
    KernelVerdict verdict =
        checkKernel(*candidate.task, *candidate.kernel, *loaded);
    if (!verdict.wrong.empty()) {
      record.outcome = Outcome::WrongValues;
      record.setDetail(verdict.wrong);
      return record;
    }
  }
  TimingOptions timingOptions = options.timing;
  timingOptions.cutOffMicroseconds = candidate.cutOffMicroseconds;
  KernelTimer timer(*candidate.task, *candidate.kernel, *loaded, pool,
                    timingOptions);
  Timing timing = timer.time(calibration);
  record.minMicroseconds = timing.minMicroseconds;
  record.medianMicroseconds = timing.medianMicroseconds;
  record.samples = timing.samples;
  record.slowdown = timing.slowdown;
  if (timing.cutOff)
    record.outcome = Outcome::CutOff;
  else if (timing.minMicroseconds <= 0)
    record.outcome = Outcome::NoTime;
  return record;
}

Measurement endOf(const ChildEnd &end) {
  Measurement result;
  switch (end.kind) {
  case ChildEnd::Kind::Signal:
    result.outcome = Outcome::Crashed;
    result.detail = std::string("signal ") + strsignal(end.number);
    break;
  case ChildEnd::Kind::TimedOut:
    result.outcome = Outcome::TimedOut;
    break;
  case ChildEnd::Kind::OutOfMemory:
    result.outcome = Outcome::OutOfMemory;
    break;
  default:
    result.outcome = Outcome::Exited;
    result.detail = "exit status " + std::to_string(end.number);
    break;
  }
  return result;
}

} // namespace

std::vector<Measurement> Measurer::measure(
    const std::vector<Candidate> &candidates,
    const std::function<void(size_t, const Measurement &)> &measured) {
  std::vector<Measurement> results(candidates.size());
  size_t next = 0;
  auto add = [&](Measurement result) {
    results[next] = std::move(result);
    if (measured)
      measured(next, results[next]);
    ++next;
  };
  while (next < candidates.size()) {
    ChildEnd end = runInChild(
        {options.secondsLimit, options.memoryBytes}, sizeof(Record),
        [&](const SendRecord &send) {
          TlmPool *pool = options.threads > 1 ? tlmPoolCreate(options.threads,
                                                              int(usableCpus()))
                                              : nullptr;
          for (size_t i = next; i < candidates.size(); ++i) {
            Record record =
                measureHere(candidates[i], options, *options.calibration, pool);
            record.candidate = i;
            record.calibration = options.calibration->fastest();
            send(&record, sizeof record);
          }
        },
        [&](const void *data) {
          Record record;
          std::memcpy(&record, data, sizeof record);
          // Whatever a damaged child writes, this process keeps its order.
          if (record.candidate != next || !isSane(record))
            return;
          options.calibration->note(record.calibration);
          record.detail[sizeof record.detail - 1] = 0;
          add({record.outcome, record.minMicroseconds,
               record.medianMicroseconds, record.samples, record.slowdown,
               record.detail});
        });
    if (next < candidates.size())
      add(endOf(end));
  }
  return results;
}
