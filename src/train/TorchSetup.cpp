#include "train/TorchModel.h"

#include <chrono>
#include <dlfcn.h>
#include <torch/torch.h>

using namespace tlm;

namespace {

/// The reference BLAS reaches 2 GFLOP/s where OpenBLAS has 50 and more.
constexpr double kMinGflops = 5;
constexpr int64_t kSize = 256;

double bestGflops(const torch::Tensor &a, const torch::Tensor &b) {
  double best = 0;
  for (int run = 0; run < 10; ++run) {
    auto begin = std::chrono::steady_clock::now();
    torch::Tensor c = torch::mm(a, b);
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2e-9 * double(kSize * kSize * kSize) / time.count());
  }
  return best;
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
  double gflops = bestGflops(a, b);
  if (gflops < kMinGflops)
    return "the BLAS library (" + blasFile() + ") reaches " +
           std::to_string(gflops) +
           " GFLOP/s, as the reference BLAS does; hint: install "
           "libopenblas0-openmp";
  return {};
}
