#include "import/OnnxTestModel.h"

#include <cmath>

using namespace tlm;

namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

/// One unit over [steps, 1, 1] with all weights `w` and recurrent weights `r`.
OnnxTestModel recurrent(const std::string &op, int64_t gates, int64_t steps,
                        std::vector<Attr> attributes = {}) {
  OnnxTestModel model;
  model.input("x", {steps, 1, 1});
  model.weight("w", {1, gates, 1}, Floats(size_t(gates), 0.5f));
  model.weight("r", {1, gates, 1}, Floats(size_t(gates), 0.25f));
  attributes.push_back({"hidden_size", 1});
  model.node(op, {"x", "w", "r"}, {"y", "h"}, std::move(attributes));
  model.output("y").output("h");
  return model;
}

} // namespace

TEST(ImportRnn, ForwardAndReverse) {
  Tensor x{{2, 1, 1}, {1, 2}};
  float first = std::tanh(0.5f), second = std::tanh(1 + 0.25f * first);
  auto y = recurrent("RNN", 1, 2).run({x});
  EXPECT_FLOAT_EQ(y[0].data[0], first);
  EXPECT_FLOAT_EQ(y[0].data[1], second);
  EXPECT_FLOAT_EQ(y[1].data[0], second);
  first = std::tanh(1.0f), second = std::tanh(0.5f + 0.25f * first);
  y = recurrent("RNN", 1, 2, {{"direction", "reverse"}}).run({x});
  EXPECT_FLOAT_EQ(y[0].data[0], second);
  EXPECT_FLOAT_EQ(y[0].data[1], first);
  EXPECT_FLOAT_EQ(y[1].data[0], second);
}

TEST(ImportLstm, TwoSteps) {
  float h = 0, c = 0;
  for (float x : {1.0f, 2.0f}) {
    float gate = 0.5f * x + 0.25f * h;
    c = sigmoid(gate) * c + sigmoid(gate) * std::tanh(gate);
    h = sigmoid(gate) * std::tanh(c);
  }
  auto y = recurrent("LSTM", 4, 2).run({{{2, 1, 1}, {1, 2}}});
  EXPECT_FLOAT_EQ(y[1].data[0], h);
}

TEST(ImportGru, TwoStepsBothForms) {
  for (int linear : {0, 1}) {
    float h = 0;
    for (float x : {1.0f, 2.0f}) {
      float z = sigmoid(0.5f * x + 0.25f * h);
      float own = std::tanh(0.5f * x + z * (0.25f * h));
      h = (1 - z) * own + z * h;
    }
    auto y = recurrent("GRU", 3, 2, {{"linear_before_reset", linear}})
                 .run({{{2, 1, 1}, {1, 2}}});
    EXPECT_FLOAT_EQ(y[1].data[0], h);
  }
}

TEST(ImportRnn, Refusals) {
  EXPECT_NE(recurrent("RNN", 1, 1000).error().find("1000 steps"),
            std::string::npos);
  EXPECT_NE(recurrent("RNN", 2, 2).error().find("do not fit"),
            std::string::npos);
  EXPECT_NE(recurrent("RNN", 1, 2, {{"direction", "bidirectional"}})
                .error()
                .find("direction"),
            std::string::npos);
  EXPECT_NE(recurrent("RNN", 1, 2, {{"activations", Attr::Texts{"ScaledTanh"}}})
                .error()
                .find("scaledtanh"),
            std::string::npos);
}
