#include "train/TorchModel.h"

#include "model/Kernels.h"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <torch/torch.h>

using namespace tlm;

namespace {

/// Of the speed of tlm's own product on one thread. Measured: OpenBLAS 0.7, the
/// reference BLAS 0.04.
constexpr double kMinShare = 0.2;
constexpr int64_t kSize = 256;

template <typename Body>
double bestSeconds(const Body &body) {
  double best = 1e30;
  for (int run = 0; run < 10; ++run) {
    auto begin = std::chrono::steady_clock::now();
    body();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count());
  }
  return best;
}

/// How long tlm's kernels take for a product of two (kSize, kSize) matrices.
double ownSeconds() {
  std::vector<float> x(kSize * kSize, 1), w = x, y = x, bias(kSize),
                                          scratch = x;
  MatrixView view{w.data(), bias.data(), kSize, kSize};
  return bestSeconds([&] {
    supportedKernels()[0]->matmul(x.data(), kSize, &view, y.data(), kSize,
                                  kSize, false, scratch.data());
  });
}

std::string blasFile() {
  Dl_info info;
  void *product = dlsym(RTLD_DEFAULT, "sgemm_");
  if (product && dladdr(product, &info) && info.dli_fname)
    return info.dli_fname;
  return "unknown";
}

} // namespace

void tlm::configureTorch(int threads) {
  at::set_num_threads(threads);
  at::globalContext().setDeterministicAlgorithms(true, false);
}

std::string tlm::blasComplaint() {
  torch::NoGradGuard noGradients;
  // Integers: exact in any order of summation.
  torch::Tensor a = torch::arange(kSize * kSize)
                        .remainder(7)
                        .view({kSize, kSize})
                        .to(torch::kFloat32);
  torch::Tensor b = torch::arange(kSize * kSize)
                        .remainder(5)
                        .view({kSize, kSize})
                        .to(torch::kFloat32);
  torch::Tensor right = torch::matmul(a.to(torch::kInt64), b.to(torch::kInt64));
  if (!torch::mm(a, b).to(torch::kInt64).equal(right))
    return "the BLAS library (" + blasFile() +
           ") computes wrong products on this CPU; hint: OPENBLAS_CORETYPE";
  double share = ownSeconds() / bestSeconds([&] { torch::mm(a, b); });
  if (share < kMinShare)
    return "the BLAS library (" + blasFile() + ") has " +
           std::to_string(int(100 * share)) +
           " % of the speed that this CPU allows, as the reference BLAS does; "
           "hint: install libopenblas0-openmp";
  return {};
}
