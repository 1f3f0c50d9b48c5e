//===- Space.h - all legal schedules of a task ------------------*- C++ -*-===//
//
// A Space is a tree of decisions. The legal choices of each follow from the
// task, the target and the decisions before it, and every path to a leaf is a
// Schedule that lowers, keeps the limits (Limits.def) and computes the task:
//
//   algorithm                direct, winograd_blocked, winograd_staged
//     register_row f         1, 2, 4
//       parallel_tile rows   56, 28, ...
//         register_tile w    14, 12, 10, ...
//
// A rule (rules/Rule.h) is straight-line code that asks one decision after the
// other, so that one walk over it writes a schedule, tells the next decision or
// checks a schedule, depending on who answers. Where one choice is legal,
// nothing is asked, but the value stands in the schedule: schedules are
// complete, and choices that would give the same kernel are offered once.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_SPACE_H
#define TLM_SPACE_SPACE_H

#include "base/Random.h"
#include "base/Result.h"
#include "space/Limits.h"
#include "space/Schedule.h"
#include "target/Target.h"
#include "task/Task.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tlm {

struct ScheduleOptions {
  /// Allows algorithms with a stated error (Winograd: 1e-5 of the output's
  /// maximum).
  bool approximate = true;
};

/// A decision with its legal choices, at least one.
struct DecisionPoint {
  Decision decision = Decision::Algorithm;
  std::string subject;
  std::vector<int64_t> choices;
};

struct Rule;

class Space {
public:
  Space(const Task &task, const Target &target,
        const ScheduleOptions &options = {});

  /// Returns one of the choices, of which there are two or more.
  using Chooser = std::function<int64_t(const DecisionPoint &)>;
  Schedule write(const Chooser &chooser) const;

  /// The first decision with a choice that `prefix` does not answer with a
  /// legal one; nothing when all are.
  std::optional<DecisionPoint> next(const Schedule &prefix) const;

  /// Whether `schedule` is a leaf; choices may stand in any order. The error
  /// names the decision, its subject, the value and the legal choices.
  Status check(const Schedule &schedule) const;

  /// A leaf, every choice uniform among its siblings.
  Schedule sample(Random &random) const;

  /// log10 of the number of leaves: exact up to a few thousand, else the mean
  /// of `samples` of Knuth's estimates ("Estimating the efficiency of backtrack
  /// programs", 1975), with a fixed seed.
  double log10Size(int64_t samples = 1000) const;

  /// Whether `algorithm` is one of the choices.
  bool offers(Algorithm algorithm) const;
  /// Why it is not, or empty.
  std::string whyNot(Algorithm algorithm) const;

private:
  /// The value, or nothing to stop.
  using Answer = std::function<std::optional<int64_t>(const DecisionPoint &)>;
  Schedule walk(const Answer &answer) const;
  double countLeaves(const Schedule &prefix, double most) const;

  Task task;
  std::string key;
  Target target;
  Limits limits;
  ScheduleOptions options;
  std::vector<const Rule *> forms;
};

} // namespace tlm

#endif // TLM_SPACE_SPACE_H
