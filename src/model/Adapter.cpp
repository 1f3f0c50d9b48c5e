#include "model/Adapter.h"

#include "base/Hash.h"
#include "base/NumberText.h"

#include <cmath>
#include <cstring>

using namespace tlm;

namespace {

constexpr const char *kFormat = "tlm-adapter 1";
constexpr int64_t kMaxRank = 1024;

using Notes = std::map<std::string, std::string>;

/// Of everything but itself.
std::string hashOfFile(const Notes &notes, std::span<const std::byte> data) {
  std::string text = hexText(hashOfData({&data, 1}));
  for (const auto &[key, value] : notes)
    if (key != "hash")
      text += "\n" + key + "=" + value;
  return hexText(hash64(text));
}

} // namespace

Adapter tlm::newAdapter(const ModelConfig &config, int64_t rank, float scale,
                        uint64_t seed) {
  Adapter adapter{rank, scale, {}};
  // Drawn as the matrices of a model of that inner width would be.
  GptParameters drawn = randomParameters(config, seed);
  visitAdapter(config, drawn, rank,
               [&](const std::string &name, const std::vector<int64_t> &dims,
                   const std::vector<float> &matrix) {
                 auto count = size_t(dims[0] * dims[1]);
                 std::vector<float> values(count, 0.0f);
                 if (name.ends_with("lora_A"))
                   for (size_t i = 0; i < count; ++i)
                     values[i] = matrix[i % matrix.size()];
                 adapter.tensors.push_back(std::move(values));
               });
  return adapter;
}

uint64_t tlm::hashOf(const ModelConfig &config,
                     const GptParameters &parameters) {
  std::vector<std::span<const std::byte>> pieces;
  visitParameters(config, parameters,
                  [&](const std::string &, const std::vector<int64_t> &,
                      const std::vector<float> &values) {
                    pieces.push_back(std::as_bytes(std::span(values)));
                  });
  return hash64(hexText(config.hash()) + hexText(hashOfData(pieces)));
}

void tlm::applyAdapter(const ModelConfig &config, const Adapter &adapter,
                       GptParameters &parameters) {
  size_t i = 0;
  visitAdapter(config, parameters, adapter.rank,
               [&](const std::string &, const std::vector<int64_t> &dims,
                   std::vector<float> &matrix) {
                 if (i++ % 2 == 0)
                   return; // A; the sum is made with its B
                 const std::vector<float> &a = adapter.tensors[i - 2],
                                          &b = adapter.tensors[i - 1];
                 size_t rank = size_t(dims[0]), columns = size_t(dims[1]);
                 for (size_t at = 0; at < matrix.size(); ++at) {
                   size_t row = at / columns, column = at % columns;
                   double sum = 0;
                   for (size_t r = 0; r < rank; ++r)
                     sum += double(a[row * rank + r]) *
                            double(b[r * columns + column]);
                   matrix[at] += float(sum * double(adapter.scale));
                 }
               });
}

Result<Adapter> tlm::readAdapter(const std::string &path,
                                 const ModelConfig &config,
                                 const GptParameters &parameters) {
  TLM_TRY(auto file, SafeTensors::open(path));
  return adapterOf(file, path, config, parameters);
}

Result<Adapter> tlm::adapterOf(const SafeTensors &file,
                               const std::string &where,
                               const ModelConfig &config,
                               const GptParameters &parameters) {
  auto refuse = [&](const std::string &what) {
    return makeError(where + ": " + what);
  };
  Notes notes = file.metadata();
  if (notes["tlm_format"] != kFormat)
    return refuse("is no adapter of this version");
  std::string stored = notes["hash"];
  if (hashOfFile(notes, file.data()) != stored)
    return refuse("is damaged: its hash is another one");
  if (notes["base"] != hexText(hashOf(config, parameters)))
    return refuse("belongs to other weights");
  auto rank = parseInteger(notes["rank"]);
  auto scale = parseFloat(notes["scale"]);
  if (!rank || *rank < 1 || *rank > kMaxRank || !scale ||
      !std::isfinite(*scale))
    return refuse("has no rank or scale");

  Adapter adapter{*rank, *scale, {}};
  std::map<std::string, const NamedTensor *> byName;
  for (const NamedTensor &tensor : file.tensors())
    byName[tensor.name] = &tensor;
  std::string bad;
  visitAdapter(config, parameters, adapter.rank,
               [&](const std::string &name, const std::vector<int64_t> &dims,
                   const std::vector<float> &) {
                 const NamedTensor *tensor = byName[name];
                 std::vector<float> values;
                 if (tensor && tensor->dtype == DType::F32 &&
                     tensor->dims == dims) {
                   values.resize(tensor->bytes.size() / sizeof(float));
                   std::memcpy(values.data(), tensor->bytes.data(),
                               tensor->bytes.size());
                   for (float value : values)
                     if (!std::isfinite(value))
                       bad = name + " has values that are not finite";
                 } else {
                   bad = "has no " + name + " of the model's shape";
                 }
                 adapter.tensors.push_back(std::move(values));
               });
  if (!bad.empty())
    return refuse(bad);
  return adapter;
}

Status tlm::writeAdapter(const std::string &path, const ModelConfig &config,
                         const GptParameters &parameters,
                         const Adapter &adapter) {
  std::vector<NamedTensor> tensors;
  std::string data;
  size_t i = 0;
  visitAdapter(config, parameters, adapter.rank,
               [&](const std::string &name, const std::vector<int64_t> &dims,
                   const std::vector<float> &) {
                 auto bytes = std::as_bytes(std::span(adapter.tensors[i++]));
                 tensors.push_back({name, DType::F32, dims, bytes});
                 data.append(reinterpret_cast<const char *>(bytes.data()),
                             bytes.size());
               });
  Notes notes = {{"tlm_format", kFormat},
                 {"base", hexText(hashOf(config, parameters))},
                 {"rank", std::to_string(adapter.rank)},
                 {"scale", floatText(adapter.scale)}};
  notes["hash"] = hashOfFile(notes, std::as_bytes(std::span(data)));
  return writeSafeTensors(path, notes, tensors);
}
