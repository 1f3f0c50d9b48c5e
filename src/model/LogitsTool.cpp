// tlm-logits FOLDER OUT: reads sentences of token ids from stdin, one a line,
// and writes the logits after every token, (T, V) f32 per sentence.

#include "model/Forward.h"

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

using namespace tlm;

namespace {

int fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return fail("usage: tlm-logits FOLDER OUT < sentences");
  Result<LanguageModel> model = LanguageModel::load(argv[1], nullptr);
  if (!model)
    return fail(model.error().message);
  const ModelConfig &config = model->config();

  std::vector<float> logits;
  Forward forward(*model);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::vector<int32_t> tokens;
    for (int32_t token; words >> token;) {
      if (token < 0 || token >= config.vocabulary)
        return fail("no token " + std::to_string(token));
      tokens.push_back(token);
    }
    if (int64_t(tokens.size()) > config.positions)
      return fail("a sentence is too long");
    Context context(config, nullptr, int64_t(tokens.size()));
    Extension extension{&context, tokens, int64_t(tokens.size())};
    forward.run({&extension, 1});
    for (size_t t = 0; t < tokens.size(); ++t)
      for (int64_t token = 0; token < config.vocabulary; ++token)
        logits.push_back(
            logit(*model, forward.state(int64_t(t)), int32_t(token)));
  }
  std::FILE *out = std::fopen(argv[2], "wb");
  if (!out ||
      std::fwrite(logits.data(), sizeof(float), logits.size(), out) !=
          logits.size() ||
      std::fclose(out) != 0)
    return fail(std::string("cannot write ") + argv[2]);
  return 0;
}
