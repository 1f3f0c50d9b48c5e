#include "model/SafeTensors.h"

#include "base/AtomicFile.h"
#include "base/Hash.h"
#include "base/MappedFile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

using namespace tlm;
using nlohmann::json;

namespace {

/// The format's own bound.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxRank = 8;

struct DTypeName {
  const char *name;
  DType dtype;
};
constexpr DTypeName kDTypes[] = {
    {"F32", DType::F32},   {"F16", DType::F16}, {"BF16", DType::BF16},
    {"F64", DType::F64},   {"I8", DType::I8},   {"I16", DType::I16},
    {"I32", DType::I32},   {"I64", DType::I64}, {"U8", DType::U8},
    {"U16", DType::U16},   {"U32", DType::U32}, {"U64", DType::U64},
    {"BOOL", DType::Bool},
};

std::string textOf(const json &value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

/// `name` as it may stand in a message.
std::string printable(const std::string &name) { return textOf(json(name)); }

/// The header, or a discarded value; `twice` is a name that came twice.
json parseHeader(std::string_view text, std::string &twice) {
  std::vector<std::set<std::string>> keys;
  auto check = [&](int, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key &&
             !keys.back().insert(value.get_ref<std::string &>()).second)
      twice = value.get_ref<std::string &>();
    return true;
  };
  return json::parse(text.begin(), text.end(), check,
                     /*allow_exceptions=*/false);
}

/// What is wrong with an entry of the header, or empty.
std::string readEntry(const json &entry, std::span<const std::byte> payload,
                      NamedTensor &tensor) {
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets"))
    return "is not an object of dtype, shape and data_offsets";
  const json &dtype = entry["dtype"], &shape = entry["shape"],
             &offsets = entry["data_offsets"];
  const auto *known = std::ranges::find_if(
      kDTypes, [&](const DTypeName &type) { return dtype == type.name; });
  if (known == std::end(kDTypes))
    return "has the unknown dtype " + textOf(dtype);
  tensor.dtype = known->dtype;

  if (!shape.is_array() || shape.size() > kMaxRank)
    return "has the shape " + textOf(shape) + "; allowed: up to " +
           std::to_string(kMaxRank) + " dims";
  uint64_t sizeBytes = sizeOf(tensor.dtype);
  for (const json &dim : shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX)
      return "has the dim " + textOf(dim);
    if (__builtin_mul_overflow(sizeBytes, dim.get<uint64_t>(), &sizeBytes))
      return "has the shape " + textOf(shape) + ", more than 2^64 bytes";
    tensor.dims.push_back(dim.get<int64_t>());
  }

  if (!offsets.is_array() || offsets.size() != 2 ||
      !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    return "has the data_offsets " + textOf(offsets);
  uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > payload.size())
    return "has the data_offsets " + textOf(offsets) + "; the file has " +
           std::to_string(payload.size()) + " bytes of data";
  if (end - begin != sizeBytes)
    return "has " + std::to_string(end - begin) + " bytes of data; its shape " +
           textOf(shape) + " asks for " + std::to_string(sizeBytes);
  tensor.bytes = payload.subspan(begin, end - begin);
  return {};
}

uint64_t littleEndian(const std::byte *bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= uint64_t(bytes[i]) << (8 * i);
  return value;
}

} // namespace

Result<SafeTensors> SafeTensors::open(const std::string &path) {
  TLM_TRY(auto file, MappedFile::open(path));
  return parse({file->data(), file->sizeBytes()}, file, path);
}

Result<SafeTensors> SafeTensors::parse(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner,
                                       const std::string &where) {
  auto refuse = [&](const std::string &what) {
    return makeError(where + ": " + what,
                     "the file is damaged or no safetensors file");
  };
  if (bytes.size() < 8)
    return refuse("has " + std::to_string(bytes.size()) +
                  " bytes, too few for a header");
  uint64_t headerBytes = littleEndian(bytes.data(), 8);
  if (headerBytes > kMaxHeaderBytes || headerBytes > bytes.size() - 8)
    return refuse("announces a header of " + std::to_string(headerBytes) +
                  " bytes; the file has " + std::to_string(bytes.size()));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()) + 8,
                        headerBytes);
  std::string twice;
  json header = parseHeader(text, twice);
  if (!header.is_object())
    return refuse("the header is no JSON object");
  if (!twice.empty())
    return refuse("the header has " + printable(twice) + " twice");

  SafeTensors file;
  file.owner = std::move(owner);
  file.payload = bytes.subspan(8 + headerBytes);
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object())
        return refuse("__metadata__ is no object");
      for (const auto &[key, value] : entry.items()) {
        if (!value.is_string())
          return refuse("__metadata__ " + printable(key) + " is no text");
        file.notes[key] = value.get_ref<const std::string &>();
      }
      continue;
    }
    NamedTensor tensor;
    tensor.name = name;
    if (std::string bad = readEntry(entry, file.payload, tensor); !bad.empty())
      return refuse("tensor " + printable(name) + " " + bad);
    file.entries.push_back(std::move(tensor));
  }

  // Empty tensors first among those that begin at one place.
  std::ranges::sort(file.entries, {}, [](const NamedTensor &tensor) {
    return std::pair(tensor.bytes.data(), tensor.bytes.size());
  });
  size_t end = 0;
  for (const NamedTensor &tensor : file.entries) {
    auto begin = size_t(tensor.bytes.data() - file.payload.data());
    if (begin != end)
      return refuse("tensor " + printable(tensor.name) + " begins at byte " +
                    std::to_string(begin) + " of the data; the one before it" +
                    " ends at " + std::to_string(end));
    end = begin + tensor.bytes.size();
  }
  if (end != file.payload.size())
    return refuse("has " + std::to_string(file.payload.size()) +
                  " bytes of data; the tensors take " + std::to_string(end));
  return file;
}

Status tlm::writeSafeTensors(const std::string &path,
                             const std::map<std::string, std::string> &metadata,
                             const std::vector<NamedTensor> &tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const NamedTensor &tensor : tensors) {
    const auto *type = std::ranges::find_if(
        kDTypes, [&](const DTypeName &t) { return t.dtype == tensor.dtype; });
    TLM_CHECK(type != std::end(kDTypes)) << nameOf(tensor.dtype);
    uint64_t end = offset + tensor.bytes.size();
    header[tensor.name] = {{"dtype", type->name},
                           {"shape", tensor.dims},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  bytes.reserve(8 + text.size() + offset);
  for (int i = 0; i < 8; ++i)
    bytes.push_back(char(uint64_t(text.size()) >> (8 * i)));
  bytes += text;
  for (const NamedTensor &tensor : tensors)
    bytes.append(reinterpret_cast<const char *>(tensor.bytes.data()),
                 tensor.bytes.size());
  return writeFileAtomically(path, bytes);
}

uint64_t tlm::hashOfData(std::span<const std::span<const std::byte>> pieces) {
  // Eight chains of multiplications, so that they overlap.
  constexpr uint64_t kPrime = 0x9e3779b97f4a7c15u;
  std::array<uint64_t, 8> lanes;
  for (uint64_t i = 0; i < lanes.size(); ++i)
    lanes[i] = i + 1;
  uint64_t word = 0, total = 0;
  for (std::span<const std::byte> piece : pieces) {
    size_t i = 0;
    auto take = [&](uint64_t value) {
      uint64_t &lane = lanes[word++ % 8];
      lane = (lane ^ value) * kPrime;
    };
    for (; i + 8 <= piece.size() && word % 8 != 0; i += 8)
      take(littleEndian(piece.data() + i, 8));
    for (; i + 64 <= piece.size(); i += 64, word += 8)
      for (size_t lane = 0; lane < 8; ++lane)
        lanes[lane] =
            (lanes[lane] ^ littleEndian(piece.data() + i + 8 * lane, 8)) *
            kPrime;
    for (; i + 8 <= piece.size(); i += 8)
      take(littleEndian(piece.data() + i, 8));
    if (i < piece.size())
      take(littleEndian(piece.data() + i, piece.size() - i));
    total += piece.size();
  }
  std::string text = std::to_string(total);
  for (uint64_t lane : lanes)
    text += " " + hexText(lane);
  return hash64(text);
}
