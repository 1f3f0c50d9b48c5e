//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//

#include "Npy.h"

#include "base/NumberText.h"

#include <cstring>

namespace tlm {
namespace {

struct NumpyType {
  DType dtype;
  std::string_view descr;
};

constexpr NumpyType kTypes[] = {
    {DType::F32, "<f4"}, {DType::F64, "<f8"}, {DType::F16, "<f2"},
    {DType::U8, "|u1"},  {DType::I8, "|i1"},  {DType::I16, "<i2"},
    {DType::I32, "<i4"}, {DType::I64, "<i8"}, {DType::Bool, "|b1"},
    {DType::U16, "<u2"}, {DType::U32, "<u4"}, {DType::U64, "<u8"},
};

constexpr std::string_view kMagic = "\x93NUMPY";

/// The text behind `'key':` in the header's dict, or empty.
std::string_view fieldOf(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = quote + std::string(key) + quote;
    size_t at = header.find(quoted);
    if (at == std::string_view::npos)
      continue;
    at = header.find_first_not_of(" :", at + quoted.size());
    return at == std::string_view::npos ? std::string_view()
                                        : header.substr(at);
  }
  return {};
}

DType parseDescr(std::string_view field) {
  if (field.size() < 5 || (field[0] != '\'' && field[0] != '"'))
    return DType::Invalid;
  std::string_view descr = field.substr(1, 3);
  if (field[4] != field[0])
    return DType::Invalid;
  for (const NumpyType &type : kTypes)
    if (descr == type.descr ||
        (descr[0] == '=' && descr.substr(1) == type.descr.substr(1)))
      return type.dtype;
  return DType::Invalid;
}

bool parseShape(std::string_view field, std::vector<int64_t> &dims) {
  size_t close = field.find(')');
  if (field.empty() || field[0] != '(' || close == std::string_view::npos)
    return false;
  std::string_view list = field.substr(1, close - 1);
  while (!list.empty()) {
    size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size()
                                                       : comma + 1);
    size_t begin = item.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
      if (list.empty())
        break; // "(3,)" and "()"
      return false;
    }
    item = item.substr(begin, item.find_last_not_of(' ') - begin + 1);
    std::optional<int64_t> dim = parseInteger(item);
    if (!dim || *dim < 0 || dims.size() >= 32)
      return false;
    dims.push_back(*dim);
  }
  return true;
}

/// Fortran order stores the reversed dims in C order.
void toRowMajor(HostTensor &tensor) {
  size_t size = sizeOf(tensor.dtype);
  size_t rank = tensor.dims.size();
  std::vector<char> source = tensor.data;
  std::vector<int64_t> index(rank, 0), strides(rank, 1);
  for (size_t d = 1; d < rank; ++d)
    strides[d] = strides[d - 1] * tensor.dims[d - 1];
  for (int64_t i = 0, count = tensor.count(); i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d)
      at += index[d] * strides[d];
    std::memcpy(tensor.data.data() + size_t(i) * size,
                source.data() + size_t(at) * size, size);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < tensor.dims[d])
        break;
      index[d] = 0;
    }
  }
}

} // namespace

Result<HostTensor> parseNpy(std::string_view bytes, const std::string &where) {
  auto bad = [&](const std::string &what) {
    return makeError(where + ": not a readable .npy file: " + what);
  };
  if (bytes.size() < 10 || !bytes.starts_with(kMagic))
    return bad("magic \\x93NUMPY is missing");
  int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return bad("version " + std::to_string(version) + ", supported 1 to 3");
  size_t lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + lengthBytes)
    return bad("truncated header");
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= size_t(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  size_t begin = 8 + lengthBytes;
  if (length > bytes.size() - begin)
    return bad("truncated header");
  std::string_view header = bytes.substr(begin, length);
  std::string_view payload = bytes.substr(begin + length);

  HostTensor tensor;
  std::string_view descr = fieldOf(header, "descr");
  tensor.dtype = parseDescr(descr);
  if (tensor.dtype == DType::Invalid)
    return bad("descr " + std::string(descr.substr(0, descr.find(','))) +
               " is no supported little-endian type");
  if (!parseShape(fieldOf(header, "shape"), tensor.dims))
    return bad("no shape in its header");
  std::optional<int64_t> count = checkedCount(tensor.dims);
  size_t expected = count ? size_t(*count) * sizeOf(tensor.dtype) : 0;
  if (!count || payload.size() < expected)
    return bad("shape " + tensor.typeText() + " needs more than the " +
               std::to_string(payload.size()) + " bytes that follow");
  tensor.data.assign(payload.begin(),
                     payload.begin() + std::ptrdiff_t(expected));
  if (fieldOf(header, "fortran_order").starts_with("True"))
    toRowMajor(tensor);
  return tensor;
}

Result<std::string> npyBytes(const HostTensor &tensor) {
  std::string_view descr;
  for (const NumpyType &type : kTypes)
    if (type.dtype == tensor.dtype)
      descr = type.descr;
  if (descr.empty())
    return makeError("tensor '" + tensor.name + "': NumPy has no type for " +
                     std::string(nameOf(tensor.dtype)));
  std::string shape;
  for (int64_t dim : tensor.dims)
    shape += std::to_string(dim) + ", ";
  if (tensor.dims.size() > 1)
    shape.resize(shape.size() - 2);
  else if (tensor.dims.size() == 1)
    shape.pop_back();
  std::string header = "{'descr': '" + std::string(descr) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data starts at a multiple of 64; the header ends in a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\0';
  bytes += char(header.size() & 0xff);
  bytes += char(header.size() >> 8);
  bytes += header;
  bytes.append(tensor.data.data(), tensor.data.size());
  return bytes;
}

} // namespace tlm
