#include "driver/testdata/TinyModel.h"

#include <gtest/gtest.h>

namespace tlm {
namespace {

TEST(ArtifactName, IsAnIdentifier) {
  EXPECT_EQ(artifactName("out/resnet-50.so"), "resnet_50");
  EXPECT_EQ(artifactName("a.b.so"), "a");
  EXPECT_EQ(artifactName("/x/3d.so"), "model_3d");
  EXPECT_EQ(artifactName("dir/"), "model_");
  EXPECT_EQ(artifactName(".hidden"), "_hidden");
}

TEST(HeaderText, NamesShapesAndEntry) {
  std::string text = headerText(TinyModel().input());
  for (const char *part :
       {"input  0  x  f32[1,2,6,5]", "output 0  y  f32[1,2,6,5]",
        "#define TINY_INPUT_0_DIMS {1, 2, 6, 5}",
        "const tlm_api *tiny_api(uint32_t abi_version);",
        "#include \"tlm/tlm.h\""})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

} // namespace
} // namespace tlm
