//===- Trace.cpp - steps on a time line -----------------------------------===//

#include "Trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tlm {

StepHook Trace::hook(size_t caller) {
  return
      [this, caller](tlm_context *, int32_t step, int64_t begin, int64_t end) {
        events[caller].push_back({step, begin, end});
      };
}

void Trace::endRun(size_t caller) {
  std::vector<Event> &mine = events[caller];
  auto first = mine.end();
  while (first != mine.begin() && (first - 1)->step >= 0)
    --first;
  if (first == mine.end())
    return;
  Event run{-1, first->beginNs, mine.back().endNs};
  mine.push_back(run);
}

std::string Trace::text() const {
  int64_t origin = INT64_MAX;
  for (const std::vector<Event> &mine : events)
    for (const Event &event : mine)
      origin = std::min(origin, event.beginNs);
  nlohmann::json list = nlohmann::json::array();
  for (size_t caller = 0; caller < events.size(); ++caller) {
    list.push_back({{"ph", "M"},
                    {"name", "thread_name"},
                    {"pid", 1},
                    {"tid", caller},
                    {"args", {{"name", "caller " + std::to_string(caller)}}}});
    for (const Event &event : events[caller]) {
      nlohmann::json slice = {
          {"ph", "X"},
          {"pid", 1},
          {"tid", caller},
          {"ts", double(event.beginNs - origin) / 1e3},
          {"dur", double(event.endNs - event.beginNs) / 1e3}};
      if (event.step < 0) {
        slice["name"] = "run";
        slice["cat"] = "run";
      } else {
        const StepFacts &step = model.steps()[size_t(event.step)];
        double ns = double(std::max<int64_t>(event.endNs - event.beginNs, 1));
        slice["name"] = step.kernel;
        slice["cat"] = "step";
        slice["args"] = {
            {"step", event.step},        {"node", step.name},
            {"value", step.outputName},  {"task", step.taskKey},
            {"gflops", step.flops / ns}, {"gb_s", step.bytes / ns}};
      }
      list.push_back(std::move(slice));
    }
  }
  nlohmann::json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", list}};
  return trace.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

} // namespace tlm
