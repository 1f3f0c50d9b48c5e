#include "lower/Kernel.h"
#include "lower/Payload.h"
#include "lower/Pipeline.h"
#include "lower/Text.h"

using namespace tlm;

static TemplateFunction templateFor(const Task &task, Algorithm algorithm) {
  if (algorithm == Algorithm::Plain)
    return plainTemplate;
  switch (task.kind) {
  case TaskKind::Conv:
    return algorithm == Algorithm::Direct ? convTemplate : winogradTemplate;
  case TaskKind::MatMul:
  case TaskKind::BatchMatMul:
    return convTemplate;
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return windowTemplate;
  case TaskKind::GlobalPool:
    return globalPoolTemplate;
  case TaskKind::Pointwise:
    return pointwiseTemplate;
  case TaskKind::Copy:
    return copyTemplate;
  case TaskKind::Compute:
    return computeTemplate;
  case TaskKind::Softmax:
    return softmaxTemplate;
  case TaskKind::Normalize:
    return normalizeTemplate;
  case TaskKind::Attention:
    return attentionTemplate;
  case TaskKind::Concat:
    return plainTemplate;
  }
  return plainTemplate;
}

Result<Kernel> tlm::lowerTask(const Task &task, const Schedule &schedule,
                              const Target &target,
                              const std::string &symbolPrefix,
                              const LowerOptions &options) {
  auto algorithm = static_cast<Algorithm>(
      schedule.get(Decision::Algorithm, "", int64_t(Algorithm::Direct)));
  Result<Payload> payload =
      templateFor(task, algorithm)({task, schedule, target});
  if (!payload)
    return makeError(cat(nameOf(RejectReason::UnsupportedTask), ": ",
                         payload.error().message));
  return Pipeline::forThread(target).compile(task, *payload, symbolPrefix,
                                             options);
}
