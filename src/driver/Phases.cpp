//===- Phases.cpp - the order of a compilation ----------------------------===//

#include "driver/Phases.h"

namespace tlm {
namespace {

constexpr PhaseInfo kPhases[] = {
    {Phase::Import, "import", "reads ONNX into a Graph with static shapes"},
    {Phase::Graph, "graph", "folds constants, scales and activations"},
    {Phase::Partition, "partition",
     "fuses nodes into unique Tasks, fixes layouts, plans the memory"},
    {Phase::Schedules, "schedules", "chooses a Schedule for every unique Task"},
    {Phase::Inference, "inference",
     "lets the language model write the schedules that are not known"},
    {Phase::Measure, "measure", "times what it wrote, and keeps the fastest"},
    {Phase::Lower, "lower",
     "compiles every Task with its Schedule, in parallel"},
    {Phase::SelfCheck, "self check",
     "runs every kernel once on this machine against what its Task says"},
    {Phase::Link, "link", "packs the weights and writes the artifact"},
    {Phase::Verify, "verify",
     "runs the artifact against the reference interpreter"},
};

} // namespace

std::span<const PhaseInfo> phases() { return kPhases; }

const char *nameOf(Phase phase) { return kPhases[size_t(phase)].name; }

} // namespace tlm
