// The only file that sees protobuf, and the only one compiled with exceptions:
// they stop at readOnnxBytes.

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx

#include "base/MappedFile.h"
#include "graph/ShapeRule.h"
#include "import/ExternalData.h"
#include "import/OnnxModel.h"

#include <onnx/onnx_pb.h>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <charconv>
#include <exception>
#include <filesystem>
#include <limits>

using namespace tlm;

namespace {

using Message = std::shared_ptr<const onnx::ModelProto>;

/// Graphs inside attributes of nodes inside graphs ...
constexpr int kMaxGraphDepth = 16;

DType dtypeOf(int32_t onnxType) {
  DType dtype = DType(onnxType);
  return sizeOf(dtype) != 0 ? dtype : DType::Invalid;
}

/// ONNX's own domain has two spellings.
std::string normalDomain(const std::string &domain) {
  return domain == "ai.onnx" ? "" : domain;
}

/// Turns messages into structs. Tensor data stays where it is; `message` keeps
/// it alive.
class Translator {
public:
  Translator(Message message, const std::string &folder)
      : message(std::move(message)), external(folder) {}

  Result<OnnxModel> model();

private:
  Result<OnnxTensor> tensor(const onnx::TensorProto &proto);
  Status fill(const onnx::GraphProto &proto, OnnxGraph &graph, int depth);
  Result<Constant> externalBytes(const onnx::TensorProto &proto,
                                 size_t sizeBytes, size_t alignment);
  Result<Constant> bytes(const onnx::TensorProto &proto, DType dtype,
                         int64_t count);
  Result<OnnxNode> node(const onnx::NodeProto &proto, int depth);
  Result<OnnxAttribute> attribute(const onnx::AttributeProto &proto, int depth);

  Constant view(const void *data, size_t sizeBytes) const {
    static const std::byte empty{};
    if (sizeBytes == 0)
      return {&empty, 0, nullptr};
    return {static_cast<const std::byte *>(data), sizeBytes, message};
  }

  Message message;
  ExternalData external;
};

/// A typed field in its own width.
template <typename Field>
Constant viewField(const Message &message, const Field &field) {
  return {reinterpret_cast<const std::byte *>(field.data()),
          size_t(field.size()) * sizeof(*field.data()), message};
}

/// int32_data holds the narrow types one to an element.
template <typename T, typename Field>
Constant narrow(const Field &field) {
  auto copy = std::make_shared<std::vector<std::byte>>();
  copy->resize(size_t(field.size()) * sizeof(T));
  for (int i = 0; i < field.size(); ++i) {
    T value = T(field.Get(i));
    std::memcpy(copy->data() + size_t(i) * sizeof(T), &value, sizeof(T));
  }
  return {copy->data(), copy->size(), copy};
}

Constant typedBytes(const Message &message, const onnx::TensorProto &proto,
                    DType dtype) {
  switch (dtype) {
  case DType::F32:
    return viewField(message, proto.float_data());
  case DType::F64:
    return viewField(message, proto.double_data());
  case DType::I64:
    return viewField(message, proto.int64_data());
  case DType::I32:
    return viewField(message, proto.int32_data());
  case DType::U64:
    return viewField(message, proto.uint64_data());
  case DType::U32:
    return narrow<uint32_t>(proto.uint64_data());
  case DType::I16:
  case DType::U16:
  case DType::F16:
  case DType::BF16:
    return narrow<uint16_t>(proto.int32_data());
  case DType::I8:
  case DType::U8:
  case DType::Bool:
    return narrow<uint8_t>(proto.int32_data());
  case DType::Invalid:
    break;
  }
  return {};
}

Result<Constant> Translator::externalBytes(const onnx::TensorProto &proto,
                                           size_t sizeBytes, size_t alignment) {
  std::string location;
  int64_t offset = 0, length = int64_t(sizeBytes);
  auto number = [&](const std::string &text, int64_t &out) {
    auto [end, failed] =
        std::from_chars(text.data(), text.data() + text.size(), out);
    return failed == std::errc() && end == text.data() + text.size();
  };
  for (const auto &entry : proto.external_data()) {
    bool good = true;
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      good = number(entry.value(), offset);
    else if (entry.key() == "length")
      good = number(entry.value(), length);
    if (!good)
      return makeError("external data " + entry.key() + " '" + entry.value() +
                       "' is not a number");
  }
  if (length != int64_t(sizeBytes))
    return makeError("external data of " + std::to_string(length) +
                     " bytes; the type takes " + std::to_string(sizeBytes));
  return external.find(location, offset, sizeBytes, alignment);
}

Result<Constant> Translator::bytes(const onnx::TensorProto &proto, DType dtype,
                                   int64_t count) {
  size_t expected = size_t(count) * sizeOf(dtype);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL)
    return externalBytes(proto, expected, sizeOf(dtype));
  Constant constant = proto.has_raw_data() ? view(proto.raw_data().data(),
                                                  proto.raw_data().size())
                                           : typedBytes(message, proto, dtype);
  if (constant.sizeBytes != expected)
    return makeError(std::to_string(constant.sizeBytes) + " bytes of data; " +
                     std::to_string(expected) + " are needed");
  if (expected == 0)
    return view(nullptr, 0);
  if (reinterpret_cast<uintptr_t>(constant.data) % sizeOf(dtype) != 0) {
    auto copy = std::make_shared<std::vector<std::byte>>(
        constant.data, constant.data + constant.sizeBytes);
    return Constant{copy->data(), copy->size(), copy};
  }
  return constant;
}

Result<OnnxTensor> Translator::tensor(const onnx::TensorProto &proto) {
  OnnxTensor result;
  result.name = proto.name();
  result.onnxType = proto.data_type();
  result.dtype = dtypeOf(result.onnxType);
  result.dims.assign(proto.dims().begin(), proto.dims().end());
  std::string where = "tensor '" + result.name + "': ";
  std::optional<int64_t> count = checkedCountOf(result.dims);
  if (!count)
    return makeError(where + "bad dims " + dimsText(result.dims));
  if (proto.has_segment())
    return makeError(where + "tensors in segments are not supported");
  if (result.dtype == DType::Invalid)
    return result;
  Result<Constant> data = bytes(proto, result.dtype, *count);
  if (!data)
    return makeError(where + typeText(result.dtype, result.dims) + ": " +
                         data.error().message,
                     data.error().hint);
  result.constant = std::move(*data);
  return result;
}

Result<OnnxAttribute> Translator::attribute(const onnx::AttributeProto &proto,
                                            int depth) {
  using Kind = OnnxAttribute::Kind;
  OnnxAttribute result;
  result.name = proto.name();
  switch (proto.type()) {
  case onnx::AttributeProto::FLOAT:
    result.kind = Kind::Float;
    result.f = proto.f();
    break;
  case onnx::AttributeProto::INT:
    result.kind = Kind::Int;
    result.i = proto.i();
    break;
  case onnx::AttributeProto::STRING:
    result.kind = Kind::String;
    result.s = proto.s();
    break;
  case onnx::AttributeProto::TENSOR: {
    result.kind = Kind::Tensor;
    TLM_TRY(result.tensor, tensor(proto.t()));
    break;
  }
  case onnx::AttributeProto::FLOATS:
    result.kind = Kind::Floats;
    result.floats.assign(proto.floats().begin(), proto.floats().end());
    break;
  case onnx::AttributeProto::INTS:
    result.kind = Kind::Ints;
    result.ints.assign(proto.ints().begin(), proto.ints().end());
    break;
  case onnx::AttributeProto::STRINGS:
    result.kind = Kind::Strings;
    result.strings.assign(proto.strings().begin(), proto.strings().end());
    break;
  case onnx::AttributeProto::GRAPH: {
    result.kind = Kind::Graph;
    if (depth >= kMaxGraphDepth)
      return makeError("graphs are nested deeper than " +
                       std::to_string(kMaxGraphDepth));
    auto graph = std::make_shared<OnnxGraph>();
    TLM_TRY_STATUS(fill(proto.g(), *graph, depth + 1));
    result.graph = std::move(graph);
    break;
  }
  default:
    break;
  }
  return result;
}

Result<OnnxNode> Translator::node(const onnx::NodeProto &proto, int depth) {
  OnnxNode result;
  result.name = proto.name();
  result.opType = proto.op_type();
  result.domain = normalDomain(proto.domain());
  result.inputs.assign(proto.input().begin(), proto.input().end());
  result.outputs.assign(proto.output().begin(), proto.output().end());
  for (const auto &each : proto.attribute()) {
    Result<OnnxAttribute> made = attribute(each, depth);
    if (!made)
      return makeError("node " + result.label() + ": attribute '" +
                           each.name() + "': " + made.error().message,
                       made.error().hint);
    result.attributes.push_back(std::move(*made));
  }
  return result;
}

OnnxValueInfo valueInfo(const onnx::ValueInfoProto &proto) {
  OnnxValueInfo result;
  result.name = proto.name();
  result.isTensor = proto.type().has_tensor_type();
  if (!result.isTensor)
    return result;
  const auto &type = proto.type().tensor_type();
  result.onnxType = type.elem_type();
  result.dtype = dtypeOf(result.onnxType);
  result.isRanked = type.has_shape();
  for (const auto &dim : type.shape().dim()) {
    OnnxDim made;
    if (dim.has_dim_value())
      made.value = dim.dim_value();
    else
      made.symbol = dim.dim_param();
    result.dims.push_back(std::move(made));
  }
  return result;
}

Status Translator::fill(const onnx::GraphProto &proto, OnnxGraph &graph,
                        int depth) {
  graph.graphName = proto.name();
  if (proto.sparse_initializer_size() != 0)
    return makeError("sparse initializers are not supported, found '" +
                     proto.sparse_initializer(0).values().name() + "'");
  for (const auto &each : proto.initializer()) {
    TLM_TRY(OnnxTensor made, tensor(each));
    graph.initializers.push_back(std::move(made));
  }
  for (const auto &each : proto.node()) {
    TLM_TRY(OnnxNode made, node(each, depth));
    graph.nodes.push_back(std::move(made));
  }
  for (const auto &each : proto.input())
    graph.inputs.push_back(valueInfo(each));
  for (const auto &each : proto.output())
    graph.outputs.push_back(valueInfo(each));
  for (const auto &each : proto.value_info())
    graph.values.push_back(valueInfo(each));
  return success();
}

Result<OnnxModel> Translator::model() {
  OnnxModel result;
  result.irVersion = message->ir_version();
  result.producer = message->producer_name();
  for (const auto &opset : message->opset_import())
    result.opsets.push_back({normalDomain(opset.domain()), opset.version()});
  TLM_TRY_STATUS(fill(message->graph(), result, 0));
  return result;
}

} // namespace

Result<OnnxModel> tlm::readOnnxBytes(const void *data, size_t sizeBytes,
                                     const std::string &folder) {
  if (sizeBytes == 0)
    return makeError("the file is empty, an ONNX model is expected");
  if (sizeBytes > size_t(std::numeric_limits<int>::max()))
    return makeError("the file has " + std::to_string(sizeBytes) +
                         " bytes; a protobuf message may have 2 GiB",
                     "save the model with external data");
  try {
    namespace io = google::protobuf::io;
    google::protobuf::LogSilencer quiet; // the error is ours to word
    auto message = std::make_shared<onnx::ModelProto>();
    io::ArrayInputStream array(data, int(sizeBytes));
    io::CodedInputStream stream(&array);
    stream.SetTotalBytesLimit(std::numeric_limits<int>::max());
    if (!message->ParseFromCodedStream(&stream) ||
        !stream.ConsumedEntireMessage())
      return makeError("not an ONNX model: the protobuf message is damaged");
    if (!message->has_graph())
      return makeError("not an ONNX model: the file holds no graph");
    return Translator(std::move(message), folder).model();
  } catch (const std::exception &failure) {
    return makeError(std::string("the ONNX model cannot be read: ") +
                     failure.what());
  }
}

Result<OnnxModel> tlm::readOnnx(const std::string &path) {
  TLM_TRY(auto file, MappedFile::open(path));
  std::string folder = std::filesystem::path(path).parent_path().string();
  Result<OnnxModel> model =
      readOnnxBytes(file->data(), file->sizeBytes(), folder);
  if (!model)
    return makeError(path + ": " + model.error().message, model.error().hint);
  return model;
}
