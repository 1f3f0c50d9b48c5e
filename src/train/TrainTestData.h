//===- TrainTestData.h - small sentences for the tests ----------*- C++ -*-===//

#ifndef TLM_TRAIN_TRAINTESTDATA_H
#define TLM_TRAIN_TRAINTESTDATA_H

#include "base/Random.h"
#include "train/SentenceFile.h"

#include <filesystem>

namespace tlm {

/// Groups of prompts of 3 to 9 tokens with 1 to 4 branches; what a branch says
/// follows from its prompt, so that there is something to learn.
inline std::vector<SentenceGroup> testGroups(int64_t count, uint64_t seed,
                                             int64_t vocabulary = 40) {
  Random random(seed);
  std::vector<SentenceGroup> groups;
  for (int64_t i = 0; i < count; ++i) {
    SentenceGroup group;
    auto tokens = 3 + random.below(7);
    for (uint64_t k = 0; k < tokens; ++k)
      group.prompt.push_back(int32_t(random.below(uint64_t(vocabulary))));
    auto branches = 1 + random.below(4);
    for (uint64_t b = 0; b < branches; ++b) {
      Branch branch{{3, int32_t(b)}, 2};
      int32_t token = group.prompt[0];
      for (uint64_t k = 0; k < 2 + random.below(4); ++k) {
        token = int32_t((token + 7) % vocabulary);
        branch.tokens.push_back(token);
      }
      group.branches.push_back(branch);
    }
    groups.push_back(group);
  }
  return groups;
}

class TrainFolder {
public:
  TrainFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tlm-train-XXXXXX").string();
    TLM_CHECK(::mkdtemp(pattern.data())) << pattern;
    path = pattern;
  }
  ~TrainFolder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path + "/" + name; }

  std::string path;
};

} // namespace tlm

#endif // TLM_TRAIN_TRAINTESTDATA_H
