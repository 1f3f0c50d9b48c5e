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

/// A matrix of small integers, whose products are exact in any order.
torch::Tensor integers(int64_t rows, int64_t columns, int64_t modulus) {
  return torch::arange(rows * columns)
      .remainder(modulus)
      .view({rows, columns})
      .to(torch::kFloat32);
}

/// Plain and with each operand transposed, as gradients have them.
bool isRight(int64_t rows, int64_t depth, int64_t columns) {
  torch::Tensor a = integers(rows, depth, 7), b = integers(depth, columns, 5);
  torch::Tensor at = a.t().contiguous().t(), bt = b.t().contiguous().t();
  torch::Tensor right = torch::matmul(a.to(torch::kInt64), b.to(torch::kInt64))
                            .to(torch::kFloat32);
  return torch::mm(a, b).equal(right) && torch::mm(at, b).equal(right) &&
         torch::mm(a, bt).equal(right);
}

} // namespace

void tlm::configureTorch(int threads) {
  at::set_num_threads(threads);
  at::globalContext().setDeterministicAlgorithms(true, false);
}

std::string tlm::blasComplaint() {
  torch::NoGradGuard noGradients;
  for (int64_t rows : {1, 7, 75, 256, 391})
    for (int64_t depth : {13, 32, 192, 256})
      for (int64_t columns : {10, 75, 256, 577})
        if (!isRight(rows, depth, columns))
          return "the BLAS library (" + blasFile() +
                 ") computes wrong products on this CPU; hint: "
                 "OPENBLAS_CORETYPE";
  torch::Tensor a = integers(kSize, kSize, 7), b = integers(kSize, kSize, 5);
  double share = ownSeconds() / bestSeconds([&] { torch::mm(a, b); });
  if (share < kMinShare)
    return "the BLAS library (" + blasFile() + ") has " +
           std::to_string(int(100 * share)) +
           " % of the speed that this CPU allows, as the reference BLAS does; "
           "hint: install libopenblas0-openmp";
  return {};
}
