//===- SelftestModel.cpp - a small network made in memory -----------------===//

#include "SelftestModel.h"

#include "HostTensor.h"

#include <cmath>
#include <cstring>
#include <onnx/onnx_pb.h>
#include <vector>

namespace tlm {
namespace {

using Ints = std::vector<int64_t>;

class Builder {
public:
  Builder() {
    model.set_ir_version(8);
    model.set_producer_name("tlm selftest");
    model.add_opset_import()->set_version(17);
    model.mutable_graph()->set_name("selftest");
    describe(*model.mutable_graph()->add_input(), "x", {1, 3, 32, 32});
    describe(*model.mutable_graph()->add_output(), "y", {1, 10});
  }

  std::string bytes() const { return model.SerializeAsString(); }

  /// Uniform in [low, high).
  std::string weight(const Ints &dims, float low, float high) {
    HostTensor tensor("w" + std::to_string(weights), DType::F32, dims);
    fillRandom(tensor, uint64_t(++weights));
    onnx::TensorProto &proto = *model.mutable_graph()->add_initializer();
    proto.set_name(tensor.name);
    proto.set_data_type(onnx::TensorProto::FLOAT);
    proto.mutable_dims()->Assign(dims.begin(), dims.end());
    for (int64_t i = 0; i < tensor.count(); ++i)
      proto.add_float_data(low + (high - low) * float(tensor.at(i) + 1) / 2);
    return tensor.name;
  }

  /// Returns the output's name.
  std::string node(const std::string &op,
                   const std::vector<std::string> &inputs,
                   const std::string &output = {}) {
    last = model.mutable_graph()->add_node();
    last->set_op_type(op);
    last->set_name(op + std::to_string(model.graph().node_size()));
    for (const std::string &input : inputs)
      last->add_input(input);
    last->add_output(output.empty() ? last->name() + "_out" : output);
    return last->output(0);
  }

  void ints(const char *name, const Ints &values) {
    onnx::AttributeProto &attribute = *last->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Assign(values.begin(), values.end());
  }
  void integer(const char *name, int64_t value) {
    onnx::AttributeProto &attribute = *last->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

  std::string conv(const std::string &x, int64_t c, int64_t f, int64_t k,
                   int64_t stride = 1, int64_t groups = 1) {
    int64_t summed = c / groups * k * k;
    float bound = std::sqrt(6.0f / float(summed));
    std::string y =
        node("Conv", {x, weight({f, c / groups, k, k}, -bound, bound),
                      weight({f}, -0.1f, 0.1f)});
    ints("kernel_shape", {k, k});
    ints("strides", {stride, stride});
    ints("pads", Ints(4, k / 2));
    integer("group", groups);
    return y;
  }

  std::string batchNorm(const std::string &x, int64_t c) {
    return node("BatchNormalization",
                {x, weight({c}, 0.5f, 1.5f), weight({c}, -0.1f, 0.1f),
                 weight({c}, -0.1f, 0.1f), weight({c}, 0.5f, 1.5f)});
  }

private:
  static void describe(onnx::ValueInfoProto &info, const char *name,
                       const Ints &dims) {
    info.set_name(name);
    auto *type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims)
      type->mutable_shape()->add_dim()->set_dim_value(dim);
  }

  onnx::ModelProto model;
  onnx::NodeProto *last = nullptr;
  int weights = 0;
};

} // namespace

std::string selftestModel() {
  Builder b;
  std::string x =
      b.node("Relu", {b.batchNorm(b.conv("x", 3, 16, 3, /*stride=*/2), 16)});
  x = b.node("MaxPool", {x});
  b.ints("kernel_shape", {3, 3});
  b.ints("strides", {2, 2});
  b.ints("pads", {1, 1, 1, 1});
  std::string y = b.node("Relu", {b.conv(x, 16, 16, 3)});
  x = b.node("Relu", {b.node("Add", {x, b.conv(y, 16, 16, 3)})});
  y = b.node("Relu", {b.conv(x, 16, 48, 1)});
  y = b.node("Relu", {b.conv(y, 48, 48, 3, 1, /*groups=*/48)});
  std::string s = b.node("GlobalAveragePool", {y});
  s = b.node("Sigmoid", {b.conv(s, 48, 48, 1)});
  x = b.node("Add", {x, b.conv(b.node("Mul", {y, s}), 48, 16, 1)});
  x = b.node("Flatten", {b.node("GlobalAveragePool", {x})});
  x = b.node("Gemm", {x, b.weight({16, 10}, -1, 1), b.weight({10}, -1, 1)});
  b.node("Softmax", {x}, "y");
  return b.bytes();
}

} // namespace tlm
