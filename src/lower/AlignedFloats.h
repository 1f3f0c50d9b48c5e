//===- AlignedFloats.h - memory of a kernel's operand -----------*- C++ -*-===//

#ifndef TLM_LOWER_ALIGNEDFLOATS_H
#define TLM_LOWER_ALIGNEDFLOATS_H

#include <cstdint>
#include <memory>

namespace tlm {

/// Floats on pages of their own.
class AlignedFloats {
public:
  explicit AlignedFloats(int64_t count = 0, float fill = 0);
  float *data() { return memory.get(); }
  const float *data() const { return memory.get(); }
  int64_t size() const { return count; }
  float &operator[](int64_t i) { return memory.get()[i]; }
  float operator[](int64_t i) const { return memory.get()[i]; }

private:
  struct Free {
    void operator()(float *p) const;
  };
  std::unique_ptr<float, Free> memory;
  int64_t count = 0;
};

} // namespace tlm

#endif // TLM_LOWER_ALIGNEDFLOATS_H
