//===- Npz.cpp - NumPy's .npz archives (zip) ------------------------------===//

#include "Npy.h"

#include <algorithm>
#include <zlib.h>

namespace tlm {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndRecord = 0x06054b50;
constexpr uint32_t kEndRecord64 = 0x06064b50;
constexpr uint32_t kEndLocator64 = 0x07064b50;
constexpr uint32_t kBig = 0xffffffff; // the value is in the zip64 fields
/// Deflate cannot do better than 1032 to 1.
constexpr uint64_t kMaxRatio = 1032;

/// Little-endian reads that note when they leave the file.
class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes(bytes) {}

  uint64_t read(uint64_t offset, int size) {
    if (offset > bytes.size() || bytes.size() - offset < uint64_t(size)) {
      failed = true;
      return 0;
    }
    uint64_t value = 0;
    for (int i = size; i-- > 0;)
      value =
          value << 8 | static_cast<unsigned char>(bytes[offset + size_t(i)]);
    return value;
  }
  std::string_view slice(uint64_t offset, uint64_t size) {
    if (offset > bytes.size() || bytes.size() - offset < size) {
      failed = true;
      return {};
    }
    return bytes.substr(offset, size);
  }
  bool ok() const { return !failed; }

private:
  std::string_view bytes;
  bool failed = false;
};

struct Member {
  std::string name;
  uint32_t method = 0, crc = 0;
  uint64_t packedSize = 0, size = 0, header = 0;
};

/// Replaces the 32-bit sizes that say "see zip64" from the extra field.
bool readZip64(std::string_view extra, Member &member) {
  Reader reader(extra);
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    uint64_t id = reader.read(at, 2), size = reader.read(at + 2, 2);
    at += 4;
    if (id == 1) {
      for (uint64_t *field :
           {&member.size, &member.packedSize, &member.header}) {
        if (*field == kBig) {
          *field = reader.read(at, 8);
          at += 8;
        }
      }
      return reader.ok();
    }
    at += size;
  }
  return false;
}

bool inflateAll(std::string_view packed, std::string &out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  uint64_t inLeft = packed.size(), outLeft = out.size();
  int status = Z_OK;
  while (status == Z_OK) {
    // The counters are 32 bits wide.
    auto inNow = uInt(std::min<uint64_t>(inLeft, 1u << 30));
    auto outNow = uInt(std::min<uint64_t>(outLeft, 1u << 30));
    stream.avail_in = inNow;
    stream.avail_out = outNow;
    status = inflate(&stream, Z_NO_FLUSH);
    inLeft -= inNow - stream.avail_in;
    outLeft -= outNow - stream.avail_out;
    if (status == Z_OK && inNow == stream.avail_in &&
        outNow == stream.avail_out)
      break;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && outLeft == 0;
}

void put(std::string &out, uint64_t value, int size) {
  for (int i = 0; i < size; ++i)
    out += char(value >> (8 * i) & 0xff);
}

uint32_t crcOf(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  return uint32_t(crc32_z(crc, reinterpret_cast<const Bytef *>(bytes.data()),
                          bytes.size()));
}

/// The fields that a local and a central header share.
void putFacts(std::string &out, const Member &member) {
  put(out, 20, 2);     // version needed
  put(out, 0x0800, 2); // names are UTF-8
  put(out, 0, 2);      // stored
  put(out, 0, 2);      // time
  put(out, 0x21, 2);   // 1980-01-01
  put(out, member.crc, 4);
  put(out, member.packedSize, 4);
  put(out, member.size, 4);
  put(out, member.name.size(), 2);
  put(out, 0, 2); // extra
}

} // namespace

Result<std::vector<HostTensor>> parseNpz(std::string_view bytes,
                                         const std::string &where) {
  auto bad = [&](const std::string &what) {
    return makeError(where + ": not a readable .npz file: " + what);
  };
  Reader reader(bytes);
  // The end record is the last thing but for a comment of up to 64 KiB.
  uint64_t end = bytes.size();
  uint64_t lowest = bytes.size() > 65557 ? bytes.size() - 65557 : 0;
  for (uint64_t at = bytes.size() < 22 ? 0 : bytes.size() - 22 + 1;
       at-- > lowest;)
    if (reader.read(at, 4) == kEndRecord) {
      end = at;
      break;
    }
  if (end == bytes.size())
    return bad("no zip directory (truncated?)");
  uint64_t count = reader.read(end + 10, 2);
  uint64_t directory = reader.read(end + 16, 4);
  if (directory == kBig && end >= 20 &&
      reader.read(end - 20, 4) == kEndLocator64) {
    uint64_t end64 = reader.read(end - 12, 8);
    if (reader.read(end64, 4) != kEndRecord64)
      return bad("damaged zip64 directory");
    count = reader.read(end64 + 32, 8);
    directory = reader.read(end64 + 48, 8);
  }

  std::vector<HostTensor> tensors;
  uint64_t at = directory;
  for (uint64_t i = 0; i < count; ++i) {
    if (reader.read(at, 4) != kCentralHeader || !reader.ok())
      return bad("damaged directory at entry " + std::to_string(i));
    Member member;
    member.method = uint32_t(reader.read(at + 10, 2));
    member.crc = uint32_t(reader.read(at + 16, 4));
    member.packedSize = reader.read(at + 20, 4);
    member.size = reader.read(at + 24, 4);
    uint64_t nameSize = reader.read(at + 28, 2);
    uint64_t extraSize = reader.read(at + 30, 2);
    uint64_t commentSize = reader.read(at + 32, 2);
    member.header = reader.read(at + 42, 4);
    member.name = std::string(reader.slice(at + 46, nameSize));
    if ((member.size == kBig || member.packedSize == kBig ||
         member.header == kBig) &&
        !readZip64(reader.slice(at + 46 + nameSize, extraSize), member))
      return bad("damaged zip64 field of '" + member.name + "'");
    at += 46 + nameSize + extraSize + commentSize;

    if (reader.read(member.header, 4) != kLocalHeader)
      return bad("member '" + member.name + "' is not where it should be");
    uint64_t data = member.header + 30 + reader.read(member.header + 26, 2) +
                    reader.read(member.header + 28, 2);
    std::string_view packed = reader.slice(data, member.packedSize);
    if (!reader.ok())
      return bad("member '" + member.name + "' is truncated");

    std::string inflated;
    std::string_view content = packed;
    if (member.method == Z_DEFLATED) {
      if (member.size > (packed.size() + 1) * kMaxRatio)
        return bad("member '" + member.name + "' claims an impossible size");
      inflated.resize(member.size);
      if (!inflateAll(packed, inflated))
        return bad("member '" + member.name + "' is damaged");
      content = inflated;
    } else if (member.method != 0 || member.size != packed.size()) {
      return bad("member '" + member.name + "' has compression method " +
                 std::to_string(member.method) + ", supported 0 and 8");
    }
    if (crcOf(content) != member.crc)
      return bad("member '" + member.name + "' has a wrong checksum");
    TLM_TRY(HostTensor tensor,
            parseNpy(content, where + " member '" + member.name + "'"));
    tensor.name = member.name;
    if (tensor.name.ends_with(".npy"))
      tensor.name.resize(tensor.name.size() - 4);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::string> npzBytes(const std::vector<HostTensor> &tensors) {
  std::string out, directory;
  for (const HostTensor &tensor : tensors) {
    TLM_TRY(std::string content, npyBytes(tensor));
    Member member;
    member.name = tensor.name + ".npy";
    member.crc = crcOf(content);
    member.size = member.packedSize = content.size();
    member.header = out.size();
    if (member.header + content.size() >= kBig || member.name.size() > 0xffff)
      return makeError("an .npz of more than 4 GB or such long names is not "
                       "supported",
                       "write single .npy files");
    put(out, kLocalHeader, 4);
    putFacts(out, member);
    out += member.name;
    out += content;
    put(directory, kCentralHeader, 4);
    put(directory, 20, 2); // version made by
    putFacts(directory, member);
    directory.append(10, '\0'); // comment, disk, attributes
    put(directory, member.header, 4);
    directory += member.name;
  }
  if (tensors.size() > 0xfffe)
    return makeError("too many tensors for one .npz");
  uint64_t begin = out.size();
  out += directory;
  put(out, kEndRecord, 4);
  put(out, 0, 4);
  put(out, tensors.size(), 2);
  put(out, tensors.size(), 2);
  put(out, directory.size(), 4);
  put(out, begin, 4);
  put(out, 0, 2);
  return out;
}

} // namespace tlm
