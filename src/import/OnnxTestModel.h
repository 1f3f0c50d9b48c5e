//===- OnnxTestModel.h - small models made in a test ------------*- C++ -*-===//

#ifndef TLM_IMPORT_ONNXTESTMODEL_H
#define TLM_IMPORT_ONNXTESTMODEL_H

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx

#include "graph/Passes.h"
#include "graph/Reference.h"
#include "import/ConstantData.h"
#include "import/Import.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <variant>

namespace tlm {

/// An attribute of a node.
struct Attr {
  using Ints = std::vector<int64_t>;
  std::string name;
  using Reals = std::vector<float>;
  using Texts = std::vector<std::string>;
  std::variant<int64_t, float, std::string, Ints, Reals, Texts,
               onnx::GraphProto>
      value;

  Attr(std::string name, int value)
      : name(std::move(name)), value(int64_t(value)) {}
  Attr(std::string name, float value) : name(std::move(name)), value(value) {}
  Attr(std::string name, const char *value)
      : name(std::move(name)), value(std::string(value)) {}
  Attr(std::string name, Ints value)
      : name(std::move(name)), value(std::move(value)) {}
  Attr(std::string name, Reals value)
      : name(std::move(name)), value(std::move(value)) {}
  Attr(std::string name, Texts value)
      : name(std::move(name)), value(std::move(value)) {}
  Attr(std::string name, onnx::GraphProto value)
      : name(std::move(name)), value(std::move(value)) {}
};

/// Writes a ModelProto step by step, then imports and runs it.
class OnnxTestModel {
public:
  explicit OnnxTestModel(int64_t opset = 17, int64_t ir = 8) {
    proto.set_ir_version(ir);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }

  onnx::GraphProto &graph() { return *proto.mutable_graph(); }

  /// A dim of -1 becomes the symbol "N".
  OnnxTestModel &input(const std::string &name, const Dims &dims,
                       int32_t type = onnx::TensorProto::FLOAT) {
    describe(*graph().add_input(), name, dims, type);
    return *this;
  }
  OnnxTestModel &output(const std::string &name) {
    auto *info = graph().add_output();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
    return *this;
  }
  OnnxTestModel &valueInfo(const std::string &name, const Dims &dims) {
    describe(*graph().add_value_info(), name, dims, onnx::TensorProto::FLOAT);
    return *this;
  }

  OnnxTestModel &weight(const std::string &name, const Dims &dims,
                        const std::vector<float> &data) {
    fill(*graph().add_initializer(), name, dims, data);
    return *this;
  }
  OnnxTestModel &ints(const std::string &name,
                      const std::vector<int64_t> &data) {
    return ints(name, {int64_t(data.size())}, data);
  }
  OnnxTestModel &ints(const std::string &name, const Dims &dims,
                      const std::vector<int64_t> &data) {
    auto &tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.mutable_dims()->Assign(dims.begin(), dims.end());
    tensor.mutable_int64_data()->Assign(data.begin(), data.end());
    return *this;
  }

  OnnxTestModel &node(const std::string &op, const std::vector<std::string> &in,
                      const std::vector<std::string> &out,
                      const std::vector<Attr> &attributes = {}) {
    auto &node = *graph().add_node();
    node.set_op_type(op);
    node.set_name(op + "_" + std::to_string(graph().node_size() - 1));
    for (const std::string &name : in)
      node.add_input(name);
    for (const std::string &name : out)
      node.add_output(name);
    for (const Attr &attribute : attributes)
      set(*node.add_attribute(), attribute);
    return *this;
  }

  std::string bytes() const { return proto.SerializeAsString(); }

  Result<ImportedModel> import(const ImportOptions &options = {}) const {
    std::string data = bytes();
    return importOnnxBytes(data.data(), data.size(), ".", options);
  }

  /// Message and hint of an import that must fail with ErrorCode::Model.
  std::string error(const ImportOptions &options = {}) const {
    Result<ImportedModel> model = import(options);
    if (model)
      return "no error";
    EXPECT_EQ(model.error().code, ErrorCode::Model);
    return model.error().message + " | " + model.error().hint;
  }

  /// The outputs on the reference path. The simplified graph must agree.
  std::vector<Tensor> run(const std::vector<Tensor> &inputs = {}) const {
    Result<ImportedModel> model = import();
    EXPECT_TRUE(model) << model.error().message;
    if (!model)
      return {};
    auto outputs = runReference(model->graph, inputs);
    EXPECT_TRUE(outputs) << outputs.error().message;
    simplifyGraph(model->graph);
    auto again = runReference(model->graph, inputs);
    for (size_t o = 0; o < outputs->size(); ++o) {
      EXPECT_EQ((*outputs)[o].dims, (*again)[o].dims);
      EXPECT_EQ((*outputs)[o].bytes, (*again)[o].bytes);
      for (size_t i = 0; i < (*outputs)[o].data.size(); ++i) {
        float before = (*outputs)[o].data[i], after = (*again)[o].data[i];
        EXPECT_TRUE(before == after || // infinities too
                    (std::isnan(before) && std::isnan(after)) ||
                    std::abs(before - after) <= 1e-5f * (1 + std::abs(before)))
            << before << " becomes " << after;
      }
    }
    return *outputs;
  }

  onnx::ModelProto proto;

private:
  static void describe(onnx::ValueInfoProto &info, const std::string &name,
                       const Dims &dims, int32_t type) {
    info.set_name(name);
    auto &tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (int64_t dim : dims) {
      auto *each = tensor.mutable_shape()->add_dim();
      if (dim < 0)
        each->set_dim_param("N");
      else
        each->set_dim_value(dim);
    }
  }
  static void fill(onnx::TensorProto &tensor, const std::string &name,
                   const Dims &dims, const std::vector<float> &data) {
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.mutable_dims()->Assign(dims.begin(), dims.end());
    tensor.set_raw_data(data.data(), data.size() * sizeof(float));
  }
  static void set(onnx::AttributeProto &proto, const Attr &attribute) {
    proto.set_name(attribute.name);
    if (auto *i = std::get_if<int64_t>(&attribute.value)) {
      proto.set_type(onnx::AttributeProto::INT);
      proto.set_i(*i);
    } else if (auto *f = std::get_if<float>(&attribute.value)) {
      proto.set_type(onnx::AttributeProto::FLOAT);
      proto.set_f(*f);
    } else if (auto *s = std::get_if<std::string>(&attribute.value)) {
      proto.set_type(onnx::AttributeProto::STRING);
      proto.set_s(*s);
    } else if (auto *ints = std::get_if<Attr::Ints>(&attribute.value)) {
      proto.set_type(onnx::AttributeProto::INTS);
      proto.mutable_ints()->Assign(ints->begin(), ints->end());
    } else if (auto *reals = std::get_if<Attr::Reals>(&attribute.value)) {
      proto.set_type(onnx::AttributeProto::FLOATS);
      proto.mutable_floats()->Assign(reals->begin(), reals->end());
    } else if (auto *texts = std::get_if<Attr::Texts>(&attribute.value)) {
      proto.set_type(onnx::AttributeProto::STRINGS);
      proto.mutable_strings()->Assign(texts->begin(), texts->end());
    } else {
      proto.set_type(onnx::AttributeProto::GRAPH);
      *proto.mutable_g() = std::get<onnx::GraphProto>(attribute.value);
    }
  }
};

/// 0, 1, 2, ... as a tensor.
inline Tensor iota(Dims dims, float from = 0) {
  Tensor tensor{std::move(dims), {}};
  for (int64_t i = 0; i < countOf(tensor.dims); ++i)
    tensor.data.push_back(from + float(i));
  return tensor;
}

using Floats = std::vector<float>;

/// A tensor of integers or bool, and its elements.
inline Tensor intTensor(DType dtype, Dims dims,
                        const std::vector<int64_t> &numbers) {
  Tensor tensor{std::move(dims), {}, dtype};
  Constant constant = writeInts(dtype, numbers);
  tensor.bytes.assign(constant.data, constant.data + constant.sizeBytes);
  return tensor;
}
inline std::vector<int64_t> intsOf(const Tensor &tensor) {
  Value value{"", tensor.dtype, tensor.dims, {}};
  value.constant = {tensor.raw(), tensor.sizeBytes(), nullptr};
  return readInts(value);
}

} // namespace tlm

#endif // TLM_IMPORT_ONNXTESTMODEL_H
