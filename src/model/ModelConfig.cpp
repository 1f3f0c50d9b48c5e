#include "model/ModelConfig.h"

#include "base/Hash.h"
#include "base/NumberText.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace tlm;
using nlohmann::json;

namespace {

/// Far above what TLM trains; products of them stay far below 2^63.
constexpr int64_t kMaxLayers = 256, kMaxWidth = 1 << 14, kMaxCount = 1 << 20;

/// Reads the keys of one object; keeps the first complaint.
class Fields {
public:
  Fields(const json &object, std::string where)
      : object(object), where(std::move(where)) {}

  int64_t integer(const char *key) {
    auto it = object.find(key);
    if (it == object.end())
      return fail(std::string(key) + " is missing"), 0;
    if (!it->is_number_unsigned() || it->get<uint64_t>() > uint64_t(INT64_MAX))
      return fail(std::string(key) + " is " + it->dump() +
                  "; allowed: integers from 0"),
             0;
    return it->get<int64_t>();
  }

  float real(const char *key) {
    auto it = object.find(key);
    if (it == object.end() || !it->is_number())
      return fail(std::string(key) + " is missing or no number"), 0.0f;
    return float(it->get<double>());
  }

  uint64_t hex(const char *key) {
    auto it = object.find(key);
    uint64_t value = 0;
    if (it != object.end() && it->is_string()) {
      const auto &text = it->get_ref<const std::string &>();
      auto [end, failed] =
          std::from_chars(text.data(), text.data() + text.size(), value, 16);
      if (failed == std::errc() && text.size() == 16 &&
          end == text.data() + text.size())
        return value;
    }
    return fail(std::string(key) + " is missing or not 16 hex digits"), 0;
  }

  /// `key` holds `expected`, or is absent where that is `optional`.
  void must(const char *key, const json &expected, bool optional) {
    auto it = object.find(key);
    if (it == object.end()) {
      if (!optional)
        fail(std::string(key) + " is missing; allowed: " + expected.dump());
    } else if (*it != expected) {
      fail(std::string(key) + " is " +
           it->dump(-1, ' ', true, json::error_handler_t::replace) +
           "; allowed: " + expected.dump());
    }
  }

  void fail(const std::string &what) {
    if (complaint.empty())
      complaint = where + ": " + what;
  }

  std::string complaint;

private:
  const json &object;
  std::string where;
};

} // namespace

int64_t ModelConfig::parameters() const {
  int64_t layer = 12 * width * width + 13 * width;
  return (vocabulary + positions) * width + layers * layer + 2 * width;
}

std::string ModelConfig::verify() const {
  auto bad = [](const char *what, int64_t value, int64_t most) {
    return std::string(what) + " is " + std::to_string(value) +
           "; allowed: 1 to " + std::to_string(most);
  };
  if (layers < 1 || layers > kMaxLayers)
    return bad("n_layer", layers, kMaxLayers);
  if (width < 1 || width > kMaxWidth)
    return bad("n_embd", width, kMaxWidth);
  if (heads < 1 || heads > width)
    return bad("n_head", heads, width);
  if (width % heads != 0 || headWidth() % 16 != 0)
    return "n_embd / n_head is " + std::to_string(width) + " / " +
           std::to_string(heads) + "; allowed: multiples of 16";
  if (positions < 1 || positions > kMaxCount)
    return bad("n_positions", positions, kMaxCount);
  if (vocabulary < 1 || vocabulary > kMaxCount)
    return bad("vocab_size", vocabulary, kMaxCount);
  if (!std::isfinite(epsilon) || epsilon <= 0 || epsilon > 1)
    return "layer_norm_epsilon is " + floatText(epsilon) +
           "; allowed: above 0, up to 1";
  return {};
}

uint64_t ModelConfig::hash() const {
  std::string text = std::to_string(kWeightsVersion);
  for (int64_t value :
       {layers, heads, width, positions, vocabulary, vocabularyId.version})
    text += " " + std::to_string(value);
  text += " " + floatText(epsilon) + " " + hexText(vocabularyId.hash);
  return hash64(text);
}

Result<ModelConfig> tlm::parseModelConfig(const std::string &text,
                                          const std::string &where) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return makeError(where + ": no JSON object",
                     "a model folder has the layout of Hugging Face's GPT-2");
  Fields fields(object, where);
  fields.must("model_type", "gpt2", false);
  fields.must("activation_function", "gelu_new", false);
  fields.must("tlm_weights_version", kWeightsVersion, false);
  fields.must("tie_word_embeddings", true, true);
  fields.must("scale_attn_weights", true, true);
  fields.must("scale_attn_by_inverse_layer_idx", false, true);
  fields.must("add_cross_attention", false, true);

  ModelConfig config;
  config.layers = fields.integer("n_layer");
  config.heads = fields.integer("n_head");
  config.width = fields.integer("n_embd");
  config.positions = fields.integer("n_positions");
  config.vocabulary = fields.integer("vocab_size");
  config.epsilon = fields.real("layer_norm_epsilon");
  config.vocabularyId.version = fields.integer("tlm_vocabulary_version");
  config.vocabularyId.hash = fields.hex("tlm_vocabulary_hash");
  if (std::string bad = config.verify(); !bad.empty())
    fields.fail(bad);
  if (auto it = object.find("n_inner");
      it != object.end() && !it->is_null() && *it != config.innerWidth())
    fields.fail("n_inner is " +
                it->dump(-1, ' ', true, json::error_handler_t::replace) +
                "; allowed: null, 4 * n_embd");
  if (!fields.complaint.empty())
    return makeError(fields.complaint);
  return config;
}

std::string tlm::modelConfigText(const ModelConfig &config) {
  // Through text: 1e-05 and not the double next to the float.
  json epsilon = json::parse(floatText(config.epsilon), nullptr, false);
  return json{{"architectures", {"GPT2LMHeadModel"}},
              {"model_type", "gpt2"},
              {"activation_function", "gelu_new"},
              {"n_layer", config.layers},
              {"n_head", config.heads},
              {"n_embd", config.width},
              {"n_positions", config.positions},
              {"n_ctx", config.positions},
              {"n_inner", nullptr},
              {"vocab_size", config.vocabulary},
              {"layer_norm_epsilon", epsilon},
              {"tie_word_embeddings", true},
              {"bos_token_id", nullptr},
              {"eos_token_id", nullptr},
              {"torch_dtype", "float32"},
              {"tlm_weights_version", kWeightsVersion},
              {"tlm_vocabulary_version", config.vocabularyId.version},
              {"tlm_vocabulary_hash", hexText(config.vocabularyId.hash)}}
             .dump(2) +
         "\n";
}
