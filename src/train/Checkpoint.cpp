#include "train/Checkpoint.h"

#include "base/Hash.h"
#include "base/NumberText.h"
#include "model/SafeTensors.h"

#include <cstring>
#include <map>

using namespace tlm;

namespace {

constexpr const char *kFormat = "tlm-checkpoint 1";

using Notes = std::map<std::string, std::string>;

struct Part {
  const char *prefix;
  std::vector<TensorValues> Checkpoint::*tensors;
};
constexpr Part kParts[] = {{"weight/", &Checkpoint::weights},
                           {"first/", &Checkpoint::first},
                           {"second/", &Checkpoint::second}};

/// Of the notes and of the data.
std::string hashOf(const Notes &notes,
                   std::span<const std::span<const std::byte>> pieces) {
  std::string text = hexText(hashOfData(pieces));
  for (const auto &[key, value] : notes)
    if (key != "hash")
      text += "\n" + key + "=" + value;
  return hexText(hash64(text));
}

Notes notesOf(const Checkpoint &checkpoint) {
  return {{"format", kFormat},
          {"step", std::to_string(checkpoint.step)},
          {"epoch", std::to_string(checkpoint.cursor.epoch)},
          {"next", std::to_string(checkpoint.cursor.next)},
          {"options", checkpoint.options},
          {"data", checkpoint.data},
          {"config", checkpoint.config},
          {"start", checkpoint.start}};
}

} // namespace

Status tlm::writeCheckpoint(const std::string &path,
                            const Checkpoint &checkpoint) {
  std::vector<NamedTensor> tensors;
  std::vector<std::span<const std::byte>> pieces;
  // Pieces of whole words come first: only the last may be odd.
  for (const Part &part : kParts)
    for (const TensorValues &tensor : checkpoint.*part.tensors) {
      pieces.push_back(std::as_bytes(std::span(tensor.values)));
      tensors.push_back(
          {part.prefix + tensor.name, DType::F32, tensor.dims, pieces.back()});
    }
  Notes notes = notesOf(checkpoint);
  notes["hash"] = hashOf(notes, pieces);
  return writeSafeTensors(path, notes, tensors);
}

Result<Checkpoint> tlm::readCheckpoint(const std::string &path,
                                       const Checkpoint &expected) {
  TLM_TRY(auto file, SafeTensors::open(path));
  Notes notes = file.metadata();
  auto refuse = [&](const std::string &what) {
    return makeError(path + ": " + what);
  };
  if (notes["format"] != kFormat)
    return refuse("is no checkpoint of this version");
  std::span<const std::byte> data = file.data();
  std::string stored = notes["hash"];
  if (hashOf(notes, {&data, 1}) != stored)
    return refuse("is damaged: its hash is another one");

  Notes wanted = notesOf(expected);
  for (const char *key : {"config", "data", "start", "options"})
    if (notes[key] != wanted[key])
      return refuse("is of a run with other " + std::string(key) + ": " +
                    notes[key] + "; this run has " + wanted[key]);
  Checkpoint checkpoint = expected;
  auto step = parseInteger(notes["step"]), epoch = parseInteger(notes["epoch"]),
       next = parseInteger(notes["next"]);
  if (!step || !epoch || !next || *step < 0 || *epoch < 0 || *next < 0)
    return refuse("has no step or data cursor");
  checkpoint.step = *step;
  checkpoint.cursor = {*epoch, *next};

  std::map<std::string, const NamedTensor *> byName;
  for (const NamedTensor &tensor : file.tensors())
    byName[tensor.name] = &tensor;
  for (const Part &part : kParts) {
    checkpoint.*part.tensors = expected.weights;
    for (TensorValues &tensor : checkpoint.*part.tensors) {
      std::string name = part.prefix + tensor.name;
      const NamedTensor *found = byName[name];
      if (!found || found->dtype != DType::F32 || found->dims != tensor.dims)
        return refuse("has no tensor " + name + " of the model's shape");
      tensor.values.resize(found->bytes.size() / sizeof(float));
      std::memcpy(tensor.values.data(), found->bytes.data(),
                  found->bytes.size());
    }
  }
  return checkpoint;
}
