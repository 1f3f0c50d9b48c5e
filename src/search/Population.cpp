#include "search/Population.h"

#include <algorithm>

using namespace tlm;

Population::Population(const SearchInput &input)
    : random(input.seed), space(input.space), task(input.task),
      target(input.target), key(input.task.key()),
      model(input.model ? *input.model : ownModel) {}

void Population::observe(const Schedule &schedule,
                         const Measurement &measurement) {
  known.insert(schedule);
  bool timed = measurement.isOk() || measurement.outcome == Outcome::CutOff;
  double time = timed ? measurement.minMicroseconds : 0;
  model.add(key, featuresOf(task, target, schedule), time);
  if (!measurement.isOk())
    return;
  Member member = {schedule, time};
  auto place = std::upper_bound(members.begin(), members.end(), member,
                                [](const Member &a, const Member &b) {
                                  return a.microseconds < b.microseconds;
                                });
  members.insert(place, std::move(member));
}

bool Population::prepare() {
  model.train();
  return model.isTrained();
}

std::vector<Schedule> Population::fastest(size_t most) const {
  std::vector<Schedule> schedules;
  for (size_t i = 0; i < std::min(most, members.size()); ++i)
    schedules.push_back(members[i].schedule);
  return schedules;
}

std::vector<float> Population::score(const std::vector<Schedule> &schedules) {
  std::vector<FeatureVector> rows;
  rows.reserve(schedules.size());
  for (const Schedule &schedule : schedules)
    rows.push_back(featuresOf(task, target, schedule));
  std::vector<float> scores = model.predict(rows);
  for (size_t i = 0; i < schedules.size(); ++i)
    if (!known.contains(schedules[i]))
      candidates.try_emplace(schedules[i].text(), scores[i], schedules[i]);
  return scores;
}

std::vector<Schedule> Population::pick(size_t count, size_t oneIn) {
  std::vector<std::pair<float, Schedule>> order;
  for (auto &[text, candidate] : candidates)
    order.push_back(std::move(candidate));
  candidates.clear();
  std::stable_sort(
      order.begin(), order.end(),
      [](const auto &a, const auto &b) { return a.first > b.first; });
  size_t drawn = count > 1 ? (count + oneIn - 1) / oneIn : 0;
  std::vector<Schedule> picked;
  for (auto &[score, schedule] : order) {
    if (picked.size() + drawn >= count)
      break;
    known.insert(schedule);
    picked.push_back(std::move(schedule));
  }
  while (picked.size() < count && known.drawNew(space, random, picked))
    ;
  return picked;
}

Wheel::Wheel(const std::vector<float> &scores) {
  double sum = 0;
  for (float score : scores)
    sums.push_back(sum += std::max(double(score), 1e-3));
}

size_t Wheel::draw(Random &random) const {
  double place = double(random.next() >> 11) * 0x1p-53 * sums.back();
  auto found = std::upper_bound(sums.begin(), sums.end(), place);
  return std::min(size_t(found - sums.begin()), sums.size() - 1);
}
