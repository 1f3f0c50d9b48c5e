//===- Space.cpp ----------------------------------------------------------===//

#include "space/Space.h"

#include "space/rules/Rule.h"

#include <algorithm>
#include <cmath>

namespace tlm {

/// The lanes behind C must stay finite, but a quotient of two paddings is not.
static bool dividesPadding(const Task &task) {
  const BufferType &out = task.output().type;
  if (out.layout != Layout::Nhwc || out.channelStride == out.dims[1])
    return false;
  return std::any_of(task.points.begin(), task.points.end(),
                     [](const PointOp &p) { return p.op == Op::Div; });
}

static Status existsFor(const Rule &rule, const RuleInput &input) {
  if (rule.algorithm != Algorithm::Plain && dividesPadding(input.task))
    return makeError("a division in the padding of channels");
  return rule.exists(input);
}

Space::Space(const Task &task, const Target &target,
             const ScheduleOptions &options)
    : task(task), key(task.key()), target(target), limits(Limits::of(target)),
      options(options) {
  RuleInput input{this->task, this->target, limits, this->options};
  for (const Rule &rule : rules())
    if ((rule.algorithm != Algorithm::Plain || forms.empty() ||
         transposesForFewRows(input)) &&
        existsFor(rule, input))
      forms.push_back(&rule);
}

bool Space::offers(Algorithm algorithm) const {
  return std::any_of(forms.begin(), forms.end(), [&](const Rule *rule) {
    return rule->algorithm == algorithm;
  });
}

std::string Space::whyNot(Algorithm algorithm) const {
  if (offers(algorithm))
    return {};
  std::string reasons;
  for (const Rule &rule : rules())
    if (rule.algorithm == algorithm)
      if (Status status = existsFor(rule, {task, target, limits, options});
          !status)
        reasons += (reasons.empty() ? "" : "; ") + status.error().message;
  return reasons.empty() ? "slower than the other forms" : reasons;
}

Schedule Space::walk(const Answer &answer) const {
  Schedule schedule;
  schedule.taskKey = key;
  Asker ask(schedule, answer);
  std::vector<int64_t> algorithms;
  for (const Rule *rule : forms)
    algorithms.push_back(int64_t(rule->algorithm));
  int64_t algorithm = ask(Decision::Algorithm, "", std::move(algorithms));
  RuleInput input{task, target, limits, options};
  for (const Rule *rule : forms)
    if (int64_t(rule->algorithm) == algorithm)
      rule->decide(input, ask);
  return schedule;
}

Schedule Space::write(const Chooser &chooser) const {
  return walk([&](const DecisionPoint &point) -> std::optional<int64_t> {
    return point.choices.size() == 1 ? point.choices[0] : chooser(point);
  });
}

static const Choice *find(const Schedule &schedule,
                          const DecisionPoint &point) {
  for (const Choice &choice : schedule.choices)
    if (choice.decision == point.decision && choice.subject == point.subject)
      return &choice;
  return nullptr;
}

static bool contains(const DecisionPoint &point, int64_t value) {
  return std::find(point.choices.begin(), point.choices.end(), value) !=
         point.choices.end();
}

std::optional<DecisionPoint> Space::next(const Schedule &prefix) const {
  std::optional<DecisionPoint> open;
  walk([&](const DecisionPoint &point) -> std::optional<int64_t> {
    if (point.choices.size() == 1)
      return point.choices[0];
    const Choice *choice = find(prefix, point);
    if (choice && contains(point, choice->value))
      return choice->value;
    open = point;
    return std::nullopt;
  });
  return open;
}

static std::string legalText(const DecisionPoint &point) {
  std::string text = "; legal:";
  for (int64_t value : point.choices)
    text.append(" ").append(valueText(point.decision, value));
  return text;
}

static std::string subjectText(Decision decision, const std::string &subject) {
  std::string text(nameOf(decision));
  return subject.empty() ? text : text + ' ' + subject;
}

Status Space::check(const Schedule &schedule) const {
  if (schedule.taskKey != key)
    return makeError("a schedule of task " + schedule.taskKey + ", not of " +
                     key);
  std::string broken;
  Schedule leaf =
      walk([&](const DecisionPoint &point) -> std::optional<int64_t> {
        const Choice *choice = find(schedule, point);
        if (choice && contains(point, choice->value))
          return choice->value;
        broken = subjectText(point.decision, point.subject) +
                 (choice ? ": " + valueText(point.decision, choice->value) +
                               " is not among the choices"
                         : " is missing") +
                 legalText(point);
        return std::nullopt;
      });
  if (!broken.empty())
    return makeError(broken);
  for (const Choice &choice : schedule.choices) {
    if (std::find(leaf.choices.begin(), leaf.choices.end(), choice) ==
        leaf.choices.end())
      return makeError(subjectText(choice.decision, choice.subject) +
                       " is no decision of this algorithm");
    if (std::count(schedule.choices.begin(), schedule.choices.end(), choice) >
        1)
      return makeError(subjectText(choice.decision, choice.subject) +
                       " is chosen twice");
  }
  return success();
}

Schedule Space::sample(Random &random) const {
  return write([&](const DecisionPoint &point) {
    return point.choices[random.below(point.choices.size())];
  });
}

/// Leaves below `prefix`, or some number above `most`.
double Space::countLeaves(const Schedule &prefix, double most) const {
  std::optional<DecisionPoint> point = next(prefix);
  if (!point)
    return 1;
  double leaves = 0;
  for (int64_t value : point->choices) {
    Schedule longer = prefix;
    longer.choices.push_back({point->decision, point->subject, value});
    leaves += countLeaves(longer, most - leaves);
    if (leaves > most)
      break;
  }
  return leaves;
}

double Space::log10Size(int64_t samples) const {
  constexpr double kExact = 3000;
  double leaves = countLeaves({}, kExact);
  if (leaves <= kExact)
    return std::log10(leaves);
  Random random(1);
  double sum = 0;
  for (int64_t i = 0; i < samples; ++i) {
    double product = 1;
    write([&](const DecisionPoint &point) {
      product *= double(point.choices.size());
      return point.choices[random.below(point.choices.size())];
    });
    sum += product;
  }
  return std::log10(sum / double(samples));
}

} // namespace tlm
