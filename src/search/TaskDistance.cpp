#include "search/TaskDistance.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

static double distance(int64_t a, int64_t b) {
  return std::abs(std::log2(double(a) + 1) - std::log2(double(b) + 1));
}

static double distance(const BufferType &a, const BufferType &b) {
  if (a.dims.size() != b.dims.size())
    return INFINITY;
  double sum = a.layout == b.layout ? 0 : 2;
  for (size_t i = 0; i < a.dims.size(); ++i)
    sum += distance(a.dims[i], b.dims[i]);
  return sum;
}

double tlm::taskDistance(const Task &a, const Task &b) {
  if (a.kind != b.kind || a.windows.size() != b.windows.size())
    return INFINITY;
  double sum = 0;
  for (Role role : {Role::Input, Role::Weight, Role::Output}) {
    const Operand *left = a.find(role), *right = b.find(role);
    if (!left != !right)
      return INFINITY;
    if (left)
      sum += distance(left->type, right->type) +
             (left->isConstant == right->isConstant ? 0 : 1);
  }
  // A window decides which algorithms there are and what is read again.
  for (size_t i = 0; i < a.windows.size(); ++i) {
    const Window &left = a.windows[i], &right = b.windows[i];
    sum += 4 * (distance(left.kernel, right.kernel) +
                distance(left.stride, right.stride) +
                distance(left.dilation, right.dilation));
  }
  sum += distance(a.groups, b.groups);
  sum += distance(a.attention.heads, b.attention.heads);
  sum += a.transposedWeight == b.transposedWeight ? 0 : 1;
  sum += !a.find(Role::InputScale) == !b.find(Role::InputScale) ? 0 : 1;
  auto points = [](const Task &task) {
    return int64_t(task.points.size() + task.computation.nodes.size());
  };
  return sum + 0.25 * distance(points(a), points(b));
}
