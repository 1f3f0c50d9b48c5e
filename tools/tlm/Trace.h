//===- Trace.h - steps on a time line ---------------------------*- C++ -*-===//
//
// Writes the trace event format that chrome://tracing and ui.perfetto.dev open:
// one row a caller, one slice a run, and in it one slice a step.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TOOLS_TRACE_H
#define TLM_TOOLS_TRACE_H

#include "LoadedModel.h"

#include <string>
#include <vector>

namespace tlm {

class Trace {
public:
  /// Callers 0 to callers - 1 may record at the same time.
  Trace(const LoadedModel &model, size_t callers)
      : model(model), events(callers) {}

  /// Pass to LoadedModel::run of that caller; the Trace must outlive the run.
  StepHook hook(size_t caller);

  /// The steps since the last call are one run.
  void endRun(size_t caller);

  /// JSON text; times are microseconds since the first step.
  std::string text() const;

private:
  struct Event {
    int32_t step; ///< -1 = a whole run
    int64_t beginNs, endNs;
  };
  const LoadedModel &model;
  std::vector<std::vector<Event>> events; ///< per caller
};

} // namespace tlm

#endif // TLM_TOOLS_TRACE_H
