//===- NpyFuzz.cpp - any bytes as .npy and .npz ---------------------------===//

#include "Npy.h"

using namespace tlm;

extern "C" int LLVMFuzzerTestOneInput(const char *data, size_t size) {
  std::string_view bytes(data, size);
  auto tensor = parseNpy(bytes, "fuzz.npy");
  if (tensor)
    (void)npyBytes(*tensor);
  (void)parseNpz(bytes, "fuzz.npz");
  return 0;
}
