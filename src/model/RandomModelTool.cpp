// tlm-random-model DIR: writes a small model folder with weights drawn at
// random, for tests of what reads one and for what a model of some size takes.

#include "lang/Vocabulary.h"
#include "model/GptParameters.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace tlm;

int main(int argc, char **argv) {
  CLI::App app("Writes a model folder of random weights.", "tlm-random-model");
  std::string folder;
  size_t words = Vocabulary::get().size();
  int64_t version = kLanguageVersion, positions = 512, layers = 2, heads = 2,
          width = 64;
  uint64_t seed = 1, flip = 0;
  app.add_option("folder", folder)->required();
  app.add_option("--words", words, "as many of the vocabulary as they know")
      ->check(CLI::Range(size_t(7), words));
  app.add_option("--version-of-language", version);
  app.add_option("--flip", flip, "bits of the vocabulary's hash to change");
  app.add_option("--positions", positions, "tokens of the longest sentence");
  app.add_option("--layers", layers);
  app.add_option("--heads", heads);
  app.add_option("--width", width);
  app.add_option("--seed", seed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &failure) {
    return app.exit(failure) == 0 ? 0 : 2;
  }
  ModelConfig config;
  config.layers = layers;
  config.heads = heads;
  config.width = width;
  config.positions = positions;
  config.vocabulary = int64_t(words);
  config.vocabularyId = {
      version, std::stoull(Vocabulary::get().hash(words), nullptr, 16) ^ flip};
  if (std::string broken = config.verify(); !broken.empty()) {
    std::fprintf(stderr, "error: %s\n", broken.c_str());
    return 2;
  }
  GptParameters parameters = randomParameters(config, seed);
  for (float &value : parameters.tokens)
    value *= 10; // clear preferences
  Status written = writeModelFolder(folder, config, parameters);
  if (!written)
    std::fprintf(stderr, "error: %s\n", written.error().message.c_str());
  return written ? 0 : 1;
}
