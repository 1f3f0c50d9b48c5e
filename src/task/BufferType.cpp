//===- BufferType.cpp -----------------------------------------------------===//

#include "task/BufferType.h"

#include "base/Check.h"
#include "base/NumberText.h"

namespace tlm {

int64_t BufferType::elementCount() const {
  if (dims.size() != 4) {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    return count;
  }
  int64_t channels = layout == Layout::Nhwc ? channelStride : dims[1];
  return dims[0] * channels * (border.top + dims[2] + border.bottom) *
         (border.left + dims[3] + border.right);
}

std::vector<int64_t> BufferType::strides() const {
  if (dims.size() == 4) {
    int64_t rows = border.top + dims[2] + border.bottom;
    int64_t columns = border.left + dims[3] + border.right;
    if (layout == Layout::Nhwc)
      return {rows * columns * channelStride, 1, columns * channelStride,
              channelStride};
    return {dims[1] * rows * columns, rows * columns, columns, 1};
  }
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

int64_t BufferType::origin() const {
  if (border.empty())
    return 0;
  TLM_CHECK(dims.size() == 4) << text();
  std::vector<int64_t> step = strides();
  return border.top * step[2] + border.left * step[3];
}

std::string BufferType::text() const {
  std::string text(nameOf(dtype));
  text += layout == Layout::Nhwc ? " nhwc[" : " plain[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "," : "") + std::to_string(dims[i]);
  text += ']';
  if (layout == Layout::Nhwc)
    text += 'c' + std::to_string(channelStride);
  if (!border.empty())
    text += " border(" + std::to_string(border.top) + ',' +
            std::to_string(border.bottom) + ',' + std::to_string(border.left) +
            ',' + std::to_string(border.right) + ")=" + floatText(border.value);
  return text;
}

} // namespace tlm
