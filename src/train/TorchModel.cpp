#include "train/TorchModel.h"

#include <cmath>
#include <limits>
#include <map>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/torch.h>

using namespace tlm;
using torch::Tensor;

namespace {

Tensor indices(const std::vector<int64_t> &values) {
  return torch::tensor(values, torch::kInt64);
}

/// -inf where row i may not see column j: j > i.
Tensor laterPositions(int64_t count, torch::ScalarType type) {
  return torch::full({count, count}, -std::numeric_limits<double>::infinity(),
                     torch::TensorOptions().dtype(type))
      .triu(1);
}

bool decays(const std::string &name, const Tensor &tensor) {
  return tensor.dim() == 2 && name.find("wpe") == std::string::npos;
}

bool isOfAdapter(const std::string &name) {
  return name.find(".lora_") != std::string::npos;
}

/// Attention of one group. Rows of its prompt and of its branches, (rows, 3C);
/// the result is (rows, C) for both together.
Tensor attendGroup(const Tensor &promptMixed, const Tensor &branchMixed,
                   const PackedGroup &group, int64_t heads) {
  int64_t width = promptMixed.size(1) / 3, d = width / heads;
  int64_t p = group.prompt, b = group.branches, l = group.length;
  torch::ScalarType type = promptMixed.scalar_type();
  double scale = 1 / std::sqrt(double(d));
  // Query, key and value, (heads, rows, d).
  auto split = [&](const Tensor &mixed) {
    return mixed.view({mixed.size(0), 3, heads, d})
        .permute({1, 2, 0, 3})
        .unbind(0);
  };
  auto prompt = split(promptMixed), branch = split(branchMixed);
  Tensor promptScores =
      torch::matmul(prompt[0] * scale, prompt[1].transpose(1, 2)) +
      laterPositions(p, type);
  Tensor promptOut = torch::matmul(promptScores.softmax(-1), prompt[2]);

  // A branch sees the whole prompt and its own past.
  Tensor query = branch[0] * scale;
  auto perBranch = [&](const Tensor &x) {
    return x.reshape({heads * b, l, d});
  };
  Tensor toPrompt = torch::matmul(query, prompt[1].transpose(1, 2));
  Tensor toOwn =
      torch::matmul(perBranch(query), perBranch(branch[1]).transpose(1, 2)) +
      laterPositions(l, type);
  std::vector<Tensor> weights =
      torch::cat({toPrompt, toOwn.view({heads, b * l, l})}, -1)
          .softmax(-1)
          .split_with_sizes({p, l}, -1);
  Tensor ownOut = torch::matmul(weights[1].reshape({heads * b, l, l}),
                                perBranch(branch[2]));
  Tensor branchOut =
      torch::matmul(weights[0], prompt[2]) + ownOut.view({heads, b * l, d});
  return torch::cat({promptOut, branchOut}, 1)
      .transpose(0, 1)
      .reshape({p + b * l, width});
}

} // namespace

struct TorchModel::State {
  TorchShape shape;
  TorchAdapter adapter;
  torch::ScalarType type;
  std::vector<std::string> names; ///< of what is learnt, in order
  std::map<std::string, Tensor> weights, first, second;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> processes;

  const Tensor &at(const std::string &name) const {
    return weights.at("transformer." + name);
  }
  Tensor norm(const Tensor &x, const std::string &name) const {
    return torch::layer_norm(x, {shape.width}, at(name + ".weight"),
                             at(name + ".bias"), shape.epsilon);
  }
  Tensor linear(const Tensor &x, const std::string &name) const {
    Tensor y = torch::addmm(at(name + ".bias"), x, at(name + ".weight"));
    if (adapter.rank == 0)
      return y;
    Tensor low = torch::mm(x, at(name + ".lora_A"));
    return y + torch::mm(low, at(name + ".lora_B")) * adapter.scale;
  }

  /// (rows, C), behind the last norm.
  Tensor forward(const PackedBatch &batch) const {
    Tensor x = torch::embedding(at("wte.weight"), indices(batch.tokens)) +
               torch::embedding(at("wpe.weight"), indices(batch.positions));
    std::vector<int64_t> sizes;
    for (const PackedGroup &group : batch.groups) {
      sizes.push_back(group.prompt);
      sizes.push_back(group.branches * group.length);
    }
    for (int64_t i = 0; i < shape.layers; ++i) {
      std::string layer = "h." + std::to_string(i);
      Tensor mixed = linear(norm(x, layer + ".ln_1"), layer + ".attn.c_attn");
      // Split once: the gradient of a slice alone is as large as the whole.
      std::vector<Tensor> pieces = mixed.split_with_sizes(sizes, 0), parts;
      for (size_t g = 0; g < batch.groups.size(); ++g)
        parts.push_back(attendGroup(pieces[2 * g], pieces[2 * g + 1],
                                    batch.groups[g], shape.heads));
      x = x + linear(torch::cat(parts, 0), layer + ".attn.c_proj");
      Tensor inner = torch::gelu(
          linear(norm(x, layer + ".ln_2"), layer + ".mlp.c_fc"), "tanh");
      x = x + linear(inner, layer + ".mlp.c_proj");
    }
    return norm(x, "ln_f");
  }

  Tensor loss(const PackedBatch &batch, LossSums &sums) const {
    Tensor rows = forward(batch).index_select(0, indices(batch.lossRows));
    Tensor scores = torch::mm(rows, at("wte.weight").t());
    Tensor targets = indices(batch.targets);
    Tensor loss = torch::nn::functional::cross_entropy(
        scores, targets,
        torch::nn::functional::CrossEntropyFuncOptions().reduction(
            torch::kSum));
    sums.loss = loss.item<double>();
    sums.correct = scores.argmax(-1).eq(targets).sum().item<int64_t>();
    sums.targets = int64_t(batch.targets.size());
    return loss;
  }

  std::map<std::string, Tensor> &moments(Kind kind) {
    return kind == Kind::FirstMoment ? first : second;
  }
};

TorchModel::TorchModel(const TorchShape &shape,
                       const std::vector<TensorValues> &values,
                       const TorchAdapter &adapter, bool inDouble)
    : state(new State) {
  state->shape = shape;
  state->adapter = adapter;
  state->type = inDouble ? torch::kFloat64 : torch::kFloat32;
  for (const TensorValues &tensor : values) {
    Tensor weight = torch::tensor(tensor.values, torch::kFloat32)
                        .view(tensor.dims)
                        .to(state->type)
                        .contiguous();
    state->weights[tensor.name] = weight;
    if (adapter.rank > 0 && !isOfAdapter(tensor.name))
      continue;
    weight.set_requires_grad(true);
    weight.mutable_grad() = torch::zeros_like(weight);
    state->names.push_back(tensor.name);
    state->first[tensor.name] = torch::zeros_like(weight).detach();
    state->second[tensor.name] = torch::zeros_like(weight).detach();
  }
}

TorchModel::~TorchModel() = default;

std::string TorchModel::join(const std::string &storeFile, int rank,
                             int world) {
  try {
    auto store = c10::make_intrusive<c10d::FileStore>(storeFile, world);
    auto options = c10d::ProcessGroupGloo::Options::create();
    // One interface of this machine; the ring's order is that of the ranks.
    options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    options->threads = 1;
    state->processes = c10::make_intrusive<c10d::ProcessGroupGloo>(
        store, rank, world, options);
  } catch (const std::exception &failure) {
    return failure.what();
  }
  return {};
}

LossSums TorchModel::learn(const PackedBatch &batch) {
  LossSums sums;
  if (!batch.lossRows.empty())
    state->loss(batch, sums).backward();
  return sums;
}

LossSums TorchModel::evaluate(const PackedBatch &batch) const {
  torch::NoGradGuard noGradients;
  LossSums sums;
  if (!batch.lossRows.empty())
    state->loss(batch, sums);
  return sums;
}

void TorchModel::share(LossSums &sums) {
  if (!state->processes)
    return;
  torch::NoGradGuard noGradients;
  std::vector<Tensor> flat;
  for (const std::string &name : state->names)
    flat.push_back(state->weights[name].grad().flatten());
  std::vector<Tensor> gradients = {torch::cat(flat)};
  state->processes->allreduce(gradients)->wait();
  int64_t offset = 0;
  for (const std::string &name : state->names) {
    Tensor gradient = state->weights[name].grad();
    gradient.copy_(
        gradients[0].narrow(0, offset, gradient.numel()).view_as(gradient));
    offset += gradient.numel();
  }
  std::vector<Tensor> numbers = {
      torch::tensor({sums.loss, double(sums.correct), double(sums.targets)},
                    torch::kFloat64)};
  state->processes->allreduce(numbers)->wait();
  sums.loss = numbers[0][0].item<double>();
  sums.correct = int64_t(numbers[0][1].item<double>());
  sums.targets = int64_t(numbers[0][2].item<double>());
}

double TorchModel::update(const AdamStep &step) {
  torch::NoGradGuard noGradients;
  double squares = 0;
  for (const std::string &name : state->names) {
    Tensor gradient = state->weights[name].grad();
    gradient.div_(double(step.targets));
    squares += gradient.square().sum(torch::kFloat64).item<double>();
  }
  double norm = std::sqrt(squares);
  double factor = norm > step.clip ? step.clip / norm : 1;
  double correction1 = 1 - std::pow(step.beta1, double(step.step));
  double correction2 = 1 - std::pow(step.beta2, double(step.step));
  for (const std::string &name : state->names) {
    Tensor weight = state->weights[name], gradient = weight.grad();
    Tensor first = state->first[name], second = state->second[name];
    gradient.mul_(factor);
    first.mul_(step.beta1).add_(gradient, 1 - step.beta1);
    second.mul_(step.beta2).addcmul_(gradient, gradient, 1 - step.beta2);
    if (decays(name, weight))
      weight.mul_(1 - step.rate * step.decay);
    Tensor scale = (second / correction2).sqrt_().add_(step.epsilon);
    weight.addcdiv_(first, scale, -step.rate / correction1);
    gradient.zero_();
  }
  return norm;
}

std::vector<TensorValues> TorchModel::values(Kind kind) const {
  std::vector<TensorValues> result;
  for (const std::string &name : state->names) {
    Tensor tensor = state->weights.at(name);
    if (kind == Kind::Gradient)
      tensor = tensor.grad();
    else if (kind != Kind::Weight)
      tensor = state->moments(kind).at(name);
    tensor = tensor.detach().to(torch::kFloat32).contiguous();
    const auto *data = tensor.data_ptr<float>();
    result.push_back(
        {name, tensor.sizes().vec(), {data, data + tensor.numel()}});
  }
  return result;
}

void TorchModel::setValues(Kind kind, const std::vector<TensorValues> &values) {
  torch::NoGradGuard noGradients;
  for (const TensorValues &from : values) {
    Tensor to = state->weights.at(from.name);
    if (kind == Kind::Gradient)
      to = to.grad();
    else if (kind != Kind::Weight)
      to = state->moments(kind).at(from.name);
    to.copy_(torch::tensor(from.values, torch::kFloat32).view(from.dims));
  }
}

std::vector<double> TorchModel::logits(const PackedBatch &batch) const {
  torch::NoGradGuard noGradients;
  Tensor scores = torch::mm(state->forward(batch), state->at("wte.weight").t())
                      .to(torch::kFloat64)
                      .contiguous();
  const auto *data = scores.data_ptr<double>();
  return {data, data + scores.numel()};
}

double TorchModel::weight(const std::string &name, int64_t i) const {
  return state->weights.at(name).detach().flatten()[i].item<double>();
}

void TorchModel::setWeight(const std::string &name, int64_t i, double value) {
  torch::NoGradGuard noGradients;
  state->weights.at(name).view(-1)[i].fill_(value);
}

double TorchModel::gradient(const std::string &name, int64_t i) const {
  return state->weights.at(name).grad().flatten()[i].item<double>();
}
