//===- Rule.h - the decisions of one form of a task -------------*- C++ -*-===//
//
// One file a family of task kinds. A rule says for which tasks its form of the
// kernel exists, and asks its decisions in straight-line code:
//
//   int64_t row = ask(Decision::RegisterRow, "f", {1, 2, 4});
//
// What it offers must be what its template in lower/ takes, and all of that
// within the limits. Adding a form: its template, its rule, a line in Rules.cpp
// and its part of ScheduleChecker.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_RULES_RULE_H
#define TLM_SPACE_RULES_RULE_H

#include "space/Space.h"

#include <span>
#include <string_view>

namespace tlm {

/// What a rule looks at.
struct RuleInput {
  const Task &task;
  const Target &target;
  const Limits &limits;
  const ScheduleOptions &options;

  int64_t lanes() const { return target.vectorFloats(); }
};

/// Takes a rule's questions to whoever answers, and records the answers.
class Asker {
public:
  using Answer = std::function<std::optional<int64_t>(const DecisionPoint &)>;
  Asker(Schedule &schedule, const Answer &answer)
      : schedule(schedule), answer(answer) {}

  /// The answer, one of `choices`. After the walk has been stopped, any of
  /// them, unrecorded: the rule runs to its end.
  int64_t operator()(Decision decision, std::string_view subject,
                     std::vector<int64_t> choices);
  /// Decision::LoopOrder: those that differ for a nest of so many panels, rows
  /// and tiles of a row.
  LoopOrder loopOrder(int64_t panels, int64_t rows, int64_t tiles);
  /// Decision::Prefetch: a choice where panels of weights are passed over more
  /// than once (lower/PrefetchPanels.h).
  void prefetch(bool severalPasses);
  /// Decision::MaxParallelism: no more workers than the largest stage has
  /// chunks.
  void maxParallelism(const RuleInput &input, int64_t mostChunks);

private:
  Schedule &schedule;
  const Answer &answer;
  bool stopped = false;
};

struct Rule {
  Algorithm algorithm;
  /// Success, or why the task has no such form.
  Status (*exists)(const RuleInput &input);
  void (*decide)(const RuleInput &input, Asker &ask);
};

/// For the forms that pack Weight and Bias when they are compiled.
Status checkConstants(const Task &task);

Status contractionExists(const RuleInput &input);
/// A right operand that must be transposed for a few rows of the left one: the
/// plain form reads it in place, and may be the faster one.
bool transposesForFewRows(const RuleInput &input);
void decideContraction(const RuleInput &input, Asker &ask);
Status winogradBlockedExists(const RuleInput &input);
void decideWinogradBlocked(const RuleInput &input, Asker &ask);
Status winogradStagedExists(const RuleInput &input);
void decideWinogradStaged(const RuleInput &input, Asker &ask);
Status windowExists(const RuleInput &input);
void decideWindow(const RuleInput &input, Asker &ask);
Status rowsExist(const RuleInput &input);
void decideRows(const RuleInput &input, Asker &ask);
Status attentionExists(const RuleInput &input);
void decideAttention(const RuleInput &input, Asker &ask);
Status globalPoolExists(const RuleInput &input);
void decideGlobalPool(const RuleInput &input, Asker &ask);
Status pointwiseExists(const RuleInput &input);
void decidePointwise(const RuleInput &input, Asker &ask);
Status copyExists(const RuleInput &input);
void decideCopy(const RuleInput &input, Asker &ask);
Status plainExists(const RuleInput &input);
void decidePlain(const RuleInput &input, Asker &ask);

/// All, in the order in which their algorithms are offered. At most one of an
/// algorithm exists for a task; the last one, plain, exists for all, but is
/// offered only where no other is or where it may be the fastest.
std::span<const Rule> rules();

} // namespace tlm

#endif // TLM_SPACE_RULES_RULE_H
