//===- TensorCompare.cpp - are two tensors the same enough? ---------------===//

#include "TensorCompare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tlm {
namespace {

std::string format(const char *form, double a, double b) {
  char text[128];
  std::snprintf(text, sizeof(text), form, a, b);
  return text;
}

std::string indexText(const HostTensor &tensor, int64_t flat) {
  std::string text;
  for (size_t d = tensor.dims.size(); d-- > 0;) {
    if (!text.empty())
      text.insert(0, ",");
    text.insert(0, std::to_string(flat % tensor.dims[d]));
    flat /= tensor.dims[d];
  }
  return "[" + text + "]";
}

} // namespace

double Tolerance::relative(DType dtype) const {
  if (rtol)
    return *rtol;
  switch (dtype) {
  case DType::F32:
  case DType::F64:
    return 1e-3;
  case DType::F16:
    return 1e-2;
  case DType::BF16:
    return 3e-2;
  default:
    return 0;
  }
}

double Tolerance::absolute(DType dtype, double largest) const {
  if (atol)
    return *atol;
  switch (dtype) {
  case DType::F32:
  case DType::F64:
    return 1e-4 * largest;
  case DType::F16:
    return 1e-3 * largest;
  case DType::BF16:
    return 1e-2 * largest;
  default:
    return 0;
  }
}

Comparison compareTensors(const HostTensor &found, const HostTensor &expected,
                          const Tolerance &tolerance) {
  Comparison result;
  if (found.dtype != expected.dtype || found.dims != expected.dims) {
    result.text =
        "is " + found.typeText() + ", expected " + expected.typeText();
    return result;
  }
  int64_t count = found.count();
  for (int64_t i = 0; i < count; ++i) {
    double e = std::fabs(expected.at(i));
    if (std::isfinite(e))
      result.largest = std::max(result.largest, e);
  }
  double rtol = tolerance.relative(found.dtype);
  double atol = tolerance.absolute(found.dtype, result.largest);
  for (int64_t i = 0; i < count; ++i) {
    double f = found.at(i), e = expected.at(i);
    bool same;
    if (std::isfinite(f) && std::isfinite(e)) {
      double error = std::fabs(f - e);
      result.maxAbs = std::max(result.maxAbs, error);
      if (e != 0)
        result.maxRel = std::max(result.maxRel, error / std::fabs(e));
      same = error <= atol + rtol * std::fabs(e);
    } else {
      same = (std::isnan(f) && std::isnan(e)) || f == e;
    }
    if (!same && result.mismatches++ == 0)
      result.firstBad = i;
  }
  result.ok = result.mismatches == 0;
  result.text =
      format("max abs err %.2g, max rel %.2g", result.maxAbs, result.maxRel);
  if (!result.ok)
    result.text += "; " + std::to_string(result.mismatches) + " of " +
                   std::to_string(count) + " differ, first at " +
                   indexText(found, result.firstBad) +
                   format(": %.9g, expected %.9g", found.at(result.firstBad),
                          expected.at(result.firstBad));
  return result;
}

} // namespace tlm
