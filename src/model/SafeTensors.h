//===- SafeTensors.h - named tensors in one file ----------------*- C++ -*-===//
//
// The safetensors format: 8 bytes, little-endian, with the size of a JSON
// header; the header; the tensors' bytes without gaps.
//
//   {"__metadata__": {"format": "pt"},
//    "wte": {"dtype": "F32", "shape": [100, 64], "data_offsets": [0, 25600]}}
//
// Offsets count from the header's end. The file is mapped, and everything the
// header says is checked before it is believed: sizes, products of dims, the
// order of the offsets, overlaps and gaps, names that come twice.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_SAFETENSORS_H
#define TLM_MODEL_SAFETENSORS_H

#include "base/DType.h"
#include "base/Result.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tlm {

struct NamedTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes; ///< not aligned
};

class SafeTensors {
public:
  static Result<SafeTensors> open(const std::string &path);
  /// `owner` keeps the bytes alive; `where` begins every error.
  static Result<SafeTensors> parse(std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> owner,
                                   const std::string &where);

  /// In the order of their bytes.
  const std::vector<NamedTensor> &tensors() const { return entries; }
  const std::map<std::string, std::string> &metadata() const { return notes; }
  /// Everything after the header.
  std::span<const std::byte> data() const { return payload; }

private:
  std::shared_ptr<const void> owner;
  std::span<const std::byte> payload;
  std::vector<NamedTensor> entries;
  std::map<std::string, std::string> notes;
};

/// Atomic; the tensors are stored in the given order.
Status writeSafeTensors(const std::string &path,
                        const std::map<std::string, std::string> &metadata,
                        const std::vector<NamedTensor> &tensors);

/// Quick, and finds every damage to a single 8-byte word; not against an
/// adversary. The pieces are hashed as if they stood one after the other; each
/// but the last must be a multiple of 8 bytes.
uint64_t hashOfData(std::span<const std::span<const std::byte>> pieces);

} // namespace tlm

#endif // TLM_MODEL_SAFETENSORS_H
