//===- TensorFilesFuzz.cpp - any bytes as .npy, .npz and .pb --------------===//

#include "Npy.h"
#include "TensorProtoFile.h"

using namespace tlm;

extern "C" int LLVMFuzzerTestOneInput(const char *data, size_t size) {
  std::string_view bytes(data, size);
  auto tensor = parseNpy(bytes, "fuzz.npy");
  if (tensor)
    (void)npyBytes(*tensor);
  (void)parseNpz(bytes, "fuzz.npz");
  (void)parseTensorProto(bytes, "fuzz.pb");
  return 0;
}
