#include "graph/reference/Kernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace tlm;

void reference::normalize(Op op, Operands inputs,
                          const NormAttributes &attributes, Tensor &y) {
  const TensorView &x = inputs[0];
  int64_t columns = x.dims->back();
  int64_t rows = columns ? x.count() / columns : 0;
  for (int64_t r = 0; r < rows; ++r) {
    const float *in = x.data + r * columns;
    double mean = 0, variance = 0;
    if (op == Op::LayerNorm) {
      for (int64_t c = 0; c < columns; ++c)
        mean += double(in[c]);
      mean /= double(columns);
    }
    for (int64_t c = 0; c < columns; ++c)
      variance += (double(in[c]) - mean) * (double(in[c]) - mean);
    variance /= double(columns);
    double inverse = 1.0 / std::sqrt(variance + double(attributes.epsilon));
    for (int64_t c = 0; c < columns; ++c) {
      double v = (double(in[c]) - mean) * inverse;
      if (inputs.size() > 1)
        v *= double(inputs[1].data[c]);
      if (inputs.size() > 2)
        v += double(inputs[2].data[c]);
      y.data[size_t(r * columns + c)] = float(v);
    }
  }
}

namespace {

/// Position of [batch, head, position, 0] in a [B,S,heads*D] or [B,heads,S,D]
/// operand.
struct HeadView {
  const float *data = nullptr;
  int64_t batch = 0, head = 0, position = 0, positions = 0, depth = 0;

  HeadView(const TensorView &x, int64_t heads) : data(x.data) {
    const Dims &d = *x.dims;
    bool merged = d.size() == 3;
    positions = merged ? d[1] : d[2];
    depth = merged ? d[2] / heads : d[3];
    head = merged ? depth : positions * depth;
    position = merged ? d[2] : depth;
    batch = positions * heads * depth;
  }
  const float *at(int64_t b, int64_t h, int64_t s) const {
    return data + b * batch + h * head + s * position;
  }
};

} // namespace

void reference::attention(Operands inputs,
                          const AttentionAttributes &attributes, Tensor &y,
                          int threads) {
  int64_t heads = attributes.heads;
  HeadView q(inputs[0], heads), k(inputs[1], attributes.keyHeads),
      v(inputs[2], attributes.keyHeads);
  int64_t batches = (*inputs[0].dims)[0], group = heads / attributes.keyHeads;
  auto maskAt = [&](int64_t b, int64_t h, int64_t s, int64_t t) {
    if (inputs.size() < 4)
      return 0.0f;
    const Dims &m = *inputs[3].dims;
    int64_t index[4] = {b, h, s, t}, offset = 0;
    for (size_t i = 0; i < 4; ++i)
      offset = offset * m[i] + (m[i] == 1 ? 0 : index[i]);
    return inputs[3].data[offset];
  };
  parallelFor(batches * heads, threads, [&](int64_t begin, int64_t end) {
    std::vector<double> p(static_cast<size_t>(k.positions));
    std::vector<double> sum(static_cast<size_t>(v.depth));
    for (int64_t i = begin; i < end; ++i) {
      int64_t b = i / heads, h = i % heads;
      for (int64_t s = 0; s < q.positions; ++s) {
        double largest = -INFINITY, total = 0;
        for (int64_t t = 0; t < k.positions; ++t) {
          const float *x = q.at(b, h, s), *z = k.at(b, h / group, t);
          float dot[8] = {};
          for (int64_t d = 0; d < q.depth; ++d)
            dot[d % 8] += x[d] * z[d];
          double score = 0;
          for (float part : dot)
            score += double(part);
          score = score * double(attributes.scale) + double(maskAt(b, h, s, t));
          p[size_t(t)] = score;
          if (score > largest || std::isnan(score))
            largest = score;
        }
        for (double &score : p) {
          score = std::exp(score - largest);
          total += score;
        }
        std::fill(sum.begin(), sum.end(), 0.0);
        for (int64_t t = 0; t < k.positions; ++t) {
          const float *z = v.at(b, h / group, t);
          for (int64_t d = 0; d < v.depth; ++d)
            sum[size_t(d)] += p[size_t(t)] * double(z[d]);
        }
        float *out =
            y.data.data() + ((b * q.positions + s) * heads + h) * v.depth;
        for (int64_t d = 0; d < v.depth; ++d)
          out[d] = float(sum[size_t(d)] / total);
      }
    }
  });
}
