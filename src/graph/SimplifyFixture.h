//===- SimplifyFixture.h - graphs before and after simplifying --*- C++ -*-===//

#ifndef TLM_GRAPH_SIMPLIFYFIXTURE_H
#define TLM_GRAPH_SIMPLIFYFIXTURE_H

#include "graph/GraphBuilder.h"
#include "graph/Passes.h"
#include "graph/Reference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tlm {

/// Builds a graph and runs it before and after simplifyGraph.
class SimplifyFixture : public ::testing::Test {
protected:
  struct Values {
    float constantSwing;    ///< constants are `from` + swing * sin
    float inputScale, step; ///< element i of an input is scale * sin(step * i)
    float tolerance;        ///< of 1 + |value|
  };
  explicit SimplifyFixture(Values values) : values(values) {}

  ValueId add(Op op, std::vector<ValueId> inputs, OpAttributes a = {}) {
    std::string name = "v" + std::to_string(graph.values.size());
    auto result = builder.add(op, std::move(inputs), std::move(a), name, name);
    EXPECT_TRUE(result) << result.error().message;
    return *result;
  }
  ValueId reshape(ValueId v, Dims dims) {
    std::string name = "v" + std::to_string(graph.values.size());
    return *builder.addReshape(v, std::move(dims), name, name);
  }
  ValueId constant(Dims dims, float from) {
    std::vector<float> data;
    for (int64_t i = 0; i < countOf(dims); ++i)
      data.push_back(from + values.constantSwing * std::sin(float(i) * 1.7f));
    return builder.addConstant("c" + std::to_string(graph.values.size()),
                               std::move(dims), std::move(data));
  }
  ValueId scalar(float value) { return builder.addConstant("s", {}, {value}); }

  void finish(ValueId output) {
    graph.outputs = {output};
    graph.value(output).name = "y";
    ASSERT_EQ(verifyGraph(graph), "");
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs) {
      Tensor t{graph.value(id).dims, {}};
      for (int64_t i = 0; i < countOf(t.dims); ++i)
        t.data.push_back(values.inputScale * std::sin(float(i) * values.step));
      inputs.push_back(std::move(t));
    }
    Tensor before = (*runReference(graph, inputs))[0];
    simplifyGraph(graph);
    Tensor after = (*runReference(graph, inputs))[0];
    EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
    ASSERT_EQ(before.dims, after.dims);
    for (size_t i = 0; i < before.data.size(); ++i)
      ASSERT_NEAR(before.data[i], after.data[i],
                  values.tolerance * (1 + std::fabs(before.data[i])))
          << i;
  }

  Graph graph;
  GraphBuilder builder{graph};

private:
  Values values;
};

} // namespace tlm

#endif // TLM_GRAPH_SIMPLIFYFIXTURE_H
