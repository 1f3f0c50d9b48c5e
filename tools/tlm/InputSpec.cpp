//===- InputSpec.cpp - the text behind --input ----------------------------===//

#include "InputSpec.h"

#include "Npy.h"
#include "TensorProtoFile.h"
#include "base/AtomicFile.h"
#include "base/NumberText.h"

#include <algorithm>
#include <optional>

namespace tlm {
namespace {

bool isFill(std::string_view text) {
  return text == "random" || text == "zeros" || text == "ones";
}

/// "f32:1x3=@raw.bin" -> type and the rest.
bool isTyped(std::string_view text) {
  size_t colon = text.find(':');
  return colon != std::string_view::npos &&
         dtypeFromName(text.substr(0, colon)) != DType::Invalid &&
         text.find("=@") != std::string_view::npos;
}

struct Named {
  std::string name; ///< empty when left out
  std::string source;
};

Named splitName(const std::string &spec) {
  size_t equals = spec.find('=');
  if (equals == std::string::npos || spec[0] == '@' || isTyped(spec))
    return {"", spec};
  return {spec.substr(0, equals), spec.substr(equals + 1)};
}

std::string namesOf(const std::vector<TensorSpec> &signature) {
  std::string text;
  for (const TensorSpec &spec : signature)
    text += (text.empty() ? "'" : ", '") + spec.name + "' " + spec.typeText();
  return text.empty() ? "none" : text;
}

/// Position in the signature by name or index.
Result<size_t> findTensor(const std::vector<TensorSpec> &signature,
                          const std::string &name, const char *kind) {
  for (size_t i = 0; i < signature.size(); ++i)
    if (signature[i].name == name)
      return i;
  std::optional<int64_t> index = parseInteger(name);
  if (index && *index >= 0 && size_t(*index) < signature.size())
    return size_t(*index);
  return makeError(std::string("the model has no ") + kind + " '" + name +
                   "'; it has: " + namesOf(signature));
}

Result<HostTensor> readRaw(const TensorSpec &spec, const std::string &source) {
  size_t colon = source.find(':');
  size_t equals = source.find("=@");
  TLM_TRY(std::vector<int64_t> dims,
          parseDims(source.substr(colon + 1, equals - colon - 1)));
  std::optional<int64_t> count = checkedCount(dims);
  if (!count)
    return makeError("--input '" + source + "': dims must be known");
  DType dtype = dtypeFromName(source.substr(0, colon));
  std::string path = source.substr(equals + 2);
  TLM_TRY(std::string bytes, readWholeFile(path));
  HostTensor tensor;
  tensor.name = spec.name;
  tensor.dtype = dtype;
  tensor.dims = dims;
  if (bytes.size() != size_t(*count) * sizeOf(dtype))
    return makeError("'" + path + "' has " + std::to_string(bytes.size()) +
                     " bytes, " + tensor.typeText() + " has " +
                     std::to_string(size_t(*count) * sizeOf(dtype)));
  tensor.data.assign(bytes.begin(), bytes.end());
  return tensor;
}

Result<HostTensor> fill(const TensorSpec &spec, const std::string &how,
                        uint64_t seed) {
  if (!checkedCount(spec.dims))
    return makeError("input '" + spec.name + "' " + spec.typeText() +
                     " has symbolic dims: give it by file");
  HostTensor tensor(spec.name, spec.dtype, spec.dims);
  if (how == "random")
    fillRandom(tensor, seed);
  else if (how == "ones")
    fillOnes(tensor);
  return tensor;
}

/// One tensor out of a file: the one of that name, or the only one.
Result<HostTensor> pick(std::vector<HostTensor> tensors,
                        const std::string &name, const std::string &path) {
  for (HostTensor &tensor : tensors)
    if (tensor.name == name)
      return std::move(tensor);
  if (tensors.size() == 1)
    return std::move(tensors[0]);
  std::string held;
  for (const HostTensor &tensor : tensors)
    held += " '" + tensor.name + "'";
  return makeError("'" + path + "' has no array '" + name +
                   "'; it has:" + (held.empty() ? " none" : held));
}

} // namespace

Status checkType(const TensorSpec &spec, const HostTensor &tensor) {
  bool same =
      tensor.dtype == spec.dtype && tensor.dims.size() == spec.dims.size();
  for (size_t i = 0; same && i < spec.dims.size(); ++i)
    same = spec.dims[i] < 0 || spec.dims[i] == tensor.dims[i];
  if (same)
    return success();
  return makeError("input '" + spec.name + "' is " + tensor.typeText() +
                   ", the model wants " + spec.typeText());
}

std::string TensorSpec::typeText() const {
  std::string text(nameOf(dtype));
  text += '[';
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "," : "") + (dims[i] < 0 ? "?" : std::to_string(dims[i]));
  return text + ']';
}

Result<std::vector<int64_t>> parseDims(const std::string &text) {
  std::string list = text;
  if (list.size() >= 2 && list.front() == '[' && list.back() == ']')
    list = list.substr(1, list.size() - 2);
  std::vector<int64_t> dims;
  size_t begin = 0;
  while (begin < list.size()) {
    size_t end = std::min(list.find_first_of("x,", begin), list.size());
    std::string item = list.substr(begin, end - begin);
    std::optional<int64_t> dim =
        item == "?" ? std::optional<int64_t>(-1) : parseInteger(item);
    if (!dim || *dim < -1 || end + 1 == list.size())
      return makeError("'" + text +
                           "' is no shape; examples: 1x3x224x224 or "
                           "[1,3,224,224]",
                       {}, ErrorCode::Usage);
    dims.push_back(*dim);
    begin = end + 1;
  }
  return dims;
}

Result<std::vector<HostTensor>> readTensors(const std::string &path) {
  TLM_TRY(std::string bytes, readWholeFile(path));
  if (path.ends_with(".npz"))
    return parseNpz(bytes, path);
  Result<HostTensor> tensor = makeError(
      "'" + path + "': unknown kind of file; supported: .npy, .npz, .pb");
  if (path.ends_with(".npy"))
    tensor = parseNpy(bytes, path);
  else if (path.ends_with(".pb"))
    tensor = parseTensorProto(bytes, path);
  if (!tensor)
    return tensor.error();
  std::vector<HostTensor> tensors;
  tensors.push_back(std::move(*tensor));
  return tensors;
}

Result<std::vector<HostTensor>>
makeInputs(const std::vector<TensorSpec> &signature,
           const std::vector<std::string> &specs, uint64_t seed,
           std::vector<std::string> *filled) {
  std::vector<std::optional<HostTensor>> given(signature.size());
  for (const std::string &spec : specs) {
    Named named = splitName(spec);
    // A whole archive without a name: every member by its own name.
    if (named.name.empty() && named.source.starts_with("@") &&
        named.source.ends_with(".npz")) {
      TLM_TRY(std::vector<HostTensor> tensors,
              readTensors(named.source.substr(1)));
      for (HostTensor &tensor : tensors) {
        TLM_TRY(size_t index, findTensor(signature, tensor.name, "input"));
        given[index] = std::move(tensor);
      }
      continue;
    }
    if (named.name.empty() && signature.size() != 1)
      return makeError(
          "--input '" + spec +
              "' names no input; the model has: " + namesOf(signature),
          "write --input NAME=" + spec);
    size_t index = 0;
    if (!named.name.empty()) {
      TLM_TRY(index, findTensor(signature, named.name, "input"));
    }
    const TensorSpec &wanted = signature[index];
    if (isFill(named.source)) {
      TLM_TRY(given[index], fill(wanted, named.source, seed + index));
    } else if (isTyped(named.source)) {
      TLM_TRY(given[index], readRaw(wanted, named.source));
    } else if (named.source.starts_with("@")) {
      std::string path = named.source.substr(1);
      TLM_TRY(std::vector<HostTensor> tensors, readTensors(path));
      TLM_TRY(given[index], pick(std::move(tensors), wanted.name, path));
    } else {
      return makeError("--input '" + spec +
                           "': expected NAME=@file.npy|@file.npz|@file.pb, "
                           "NAME=f32:1x3=@file.bin, NAME=random, zeros or ones",
                       {}, ErrorCode::Usage);
    }
  }
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < signature.size(); ++i) {
    if (!given[i]) {
      TLM_TRY(given[i], fill(signature[i], "random", seed + i));
      if (filled)
        filled->push_back(signature[i].name);
    }
    given[i]->name = signature[i].name;
    TLM_TRY_STATUS(checkType(signature[i], *given[i]));
    inputs.push_back(std::move(*given[i]));
  }
  return inputs;
}

Result<std::vector<HostTensor>>
readExpected(const std::vector<TensorSpec> &signature,
             const std::vector<std::string> &specs) {
  std::vector<HostTensor> expected;
  for (const std::string &spec : specs) {
    Named named = splitName(spec);
    if (!named.source.starts_with("@"))
      return makeError("--expect '" + spec + "': expected NAME=@file or @file",
                       {}, ErrorCode::Usage);
    std::string path = named.source.substr(1);
    TLM_TRY(std::vector<HostTensor> tensors, readTensors(path));
    bool single =
        !named.name.empty() || (tensors.size() == 1 && signature.size() == 1);
    if (single) {
      TLM_TRY(size_t index,
              findTensor(signature, named.name.empty() ? "0" : named.name,
                         "output"));
      TLM_TRY(HostTensor tensor,
              pick(std::move(tensors), signature[index].name, path));
      tensor.name = signature[index].name;
      expected.push_back(std::move(tensor));
      continue;
    }
    for (HostTensor &tensor : tensors) {
      TLM_TRY(size_t index, findTensor(signature, tensor.name, "output"));
      tensor.name = signature[index].name;
      expected.push_back(std::move(tensor));
    }
  }
  return expected;
}

} // namespace tlm
