//===- ModelProposals.cpp - what the language model proposes --------------===//

#include "ModelProposals.h"

#include "Flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace tlm {

constexpr int64_t kDrawsPerProposal = 4, kMostDraws = 4096;

std::vector<std::vector<Schedule>>
ModelProposals::of(std::span<const Task *const> tasks, const Target &target,
                   const ScheduleOptions &options, int64_t jobs) const {
  std::vector<std::vector<Schedule>> all;
  for (WrittenSchedules &written :
       writer.write(tasks, target, options, int(jobs))) {
    std::vector<WrittenSchedule> &answers = written.answers;
    auto likeliest =
        std::ranges::max_element(answers, {}, &WrittenSchedule::logProbability);
    if (likeliest != answers.end())
      std::rotate(answers.begin(), likeliest, likeliest + 1);
    std::vector<Schedule> &schedules = all.emplace_back();
    for (size_t i = 0; i < std::min(answers.size(), size_t(count)); ++i)
      schedules.push_back(std::move(answers[i].schedule));
  }
  return all;
}

void ProposalFlags::add(CLI::App &app) {
  app.add_option("--model", folder,
                 "folder of the language model's weights, for the strategy "
                 "model (default: models/tlm of this installation)")
      ->type_name("DIR");
  app.add_option("--temperature", temperature,
                 "of the draws of the strategy model: above 1 more of what is "
                 "unlikely")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
}

Result<std::optional<ModelProposals>>
ProposalFlags::load(const std::vector<std::string> &strategies, int64_t count,
                    uint64_t seed) const {
  if (std::ranges::find(strategies, "model") == strategies.end()) {
    if (!folder.empty())
      return makeError("--model is for the strategy model", {},
                       ErrorCode::Usage);
    return std::optional<ModelProposals>();
  }
  WriterOptions options;
  options.folder = folder.empty() ? installedModel() : folder;
  if (options.folder.empty())
    return makeError("the strategy model: there are no weights of the language "
                     "model in this installation",
                     "name a folder of weights with --model DIR (tlm train "
                     "makes one)");
  options.samples = std::min(1 + kDrawsPerProposal * count, kMostDraws);
  options.seed = seed;
  options.temperature = temperature;
  TLM_TRY(ScheduleWriter writer, ScheduleWriter::load(options));
  return std::optional<ModelProposals>(std::in_place, std::move(writer), count);
}

} // namespace tlm
