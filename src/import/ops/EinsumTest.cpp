#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

OnnxTestModel einsum(const char *equation, const std::vector<Dims> &operands) {
  OnnxTestModel model;
  std::vector<std::string> names;
  for (size_t i = 0; i < operands.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    model.input(names.back(), operands[i]);
  }
  model.node("Einsum", names, {"y"}, {{"equation", equation}}).output("y");
  return model;
}

Floats computed(const char *equation, const std::vector<Dims> &operands) {
  std::vector<Tensor> inputs;
  for (const Dims &dims : operands)
    inputs.push_back(iota(dims, 1));
  return einsum(equation, operands).run(inputs)[0].data;
}

} // namespace

TEST(ImportEinsum, ProductsBecomeMatMul) {
  EXPECT_EQ(computed("ij,jk->ik", {{2, 2}, {2, 2}}), (Floats{7, 10, 15, 22}));
  EXPECT_EQ(computed("ij,kj->ki", {{1, 2}, {2, 2}}), (Floats{5, 11}));
  EXPECT_EQ(computed("bij, bjk -> bik", {{2, 1, 1}, {2, 1, 1}}),
            (Floats{1, 4}));
  auto model = einsum("bhqd,bhkd->bhqk", {{1, 2, 3, 4}, {1, 2, 5, 4}});
  auto imported = model.import();
  ASSERT_TRUE(imported) << imported.error().message;
  int products = 0;
  for (const Node &node : imported->graph.nodes)
    products += node.op == Op::MatMul;
  EXPECT_EQ(products, 1);
}

TEST(ImportEinsum, EverythingElse) {
  EXPECT_EQ(computed("ii->i", {{2, 2}}), (Floats{1, 4}));
  EXPECT_EQ(computed("ij->", {{2, 2}}), (Floats{10}));
  EXPECT_EQ(computed("ba", {{2, 2}}), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(computed("i,j,k->ijk", {{1}, {2}, {2}}), (Floats{1, 2, 2, 4}));
  EXPECT_EQ(computed("...i,i->...", {{2, 2}, {2}}), (Floats{5, 11}));
}

TEST(ImportEinsum, Refusals) {
  for (const char *equation : {"ij,jk", "ijk->i", "i$->i", "ij->ik", "ij->iji",
                               "..ij->i", "", "->", "i...j...->i"})
    EXPECT_NE(einsum(equation, {{2, 3}}).error(), "no error") << equation;
  EXPECT_NE(einsum("ij,jk->ik", {{2, 3}, {2, 2}}).error(), "no error");
}
