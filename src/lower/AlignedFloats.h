//===- AlignedFloats.h - memory of a kernel's operand -----------*- C++ -*-===//

#ifndef TLM_LOWER_ALIGNEDFLOATS_H
#define TLM_LOWER_ALIGNEDFLOATS_H

#include <cstdint>
#include <memory>
#include <optional>

namespace tlm {

/// Floats on pages of their own.
class AlignedFloats {
public:
  explicit AlignedFloats(int64_t count = 0, float fill = 0);
  /// Memory in which elements i and i + period are the same element: it takes
  /// no more than a period, a whole number of pages. Nothing where the system
  /// has no such memory.
  static std::optional<AlignedFloats> repeating(int64_t count, int64_t period);

  float *data() { return memory.get(); }
  const float *data() const { return memory.get(); }
  int64_t size() const { return count; }
  float &operator[](int64_t i) { return memory.get()[i]; }
  float operator[](int64_t i) const { return memory.get()[i]; }

private:
  struct Free {
    size_t mappedBytes; ///< 0: from the allocator
    explicit Free(size_t mappedBytes) : mappedBytes(mappedBytes) {}
    void operator()(float *p) const;
  };
  std::unique_ptr<float, Free> memory{nullptr, Free(0)};
  int64_t count = 0;
};

} // namespace tlm

#endif // TLM_LOWER_ALIGNEDFLOATS_H
