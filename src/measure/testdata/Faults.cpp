//===- Faults.cpp - kernels that do what kernels must not do --------------===//
//
// Object code for FaultsTest.cpp: each function is a stage of a kernel for
// out = max(in, 0) over 1,024 floats. Freestanding but for what every process
// of tlm has.
//
//===----------------------------------------------------------------------===//

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <unistd.h>

#define TLM_FAULT(name)                                                        \
  extern "C" void name(void *const *args, void *, int64_t, int64_t)

static constexpr int64_t kCount = 1024;

static void relu(void *const *args) {
  const float *in = static_cast<const float *>(args[0]);
  float *out = static_cast<float *>(args[1]);
  for (int64_t i = 0; i < kCount; ++i)
    out[i] = in[i] > 0 ? in[i] : 0;
}

TLM_FAULT(fault_none) { relu(args); }

TLM_FAULT(fault_segfault) {
  (void)args;
  *reinterpret_cast<volatile int *>(8) = 1;
}

TLM_FAULT(fault_loop) {
  (void)args;
  for (volatile int64_t i = 0;; i = i + 1)
    ;
}

TLM_FAULT(fault_stop) {
  (void)args;
  raise(SIGSTOP);
}

TLM_FAULT(fault_allocate_new) {
  (void)args;
  for (;;)
    *static_cast<volatile char *>(::operator new(1 << 20)) = 1;
}

TLM_FAULT(fault_allocate_malloc) {
  (void)args;
  for (;;)
    *static_cast<volatile char *>(std::malloc(1 << 20)) = 1;
}

TLM_FAULT(fault_recurse) {
  volatile char block[1 << 16];
  block[0] = 1;
  fault_recurse(args, nullptr, 0, block[0]);
  block[1] = 1;
}

TLM_FAULT(fault_write_far) {
  relu(args);
  float *out = static_cast<float *>(args[1]);
  for (int64_t i = 0; i < (int64_t(1) << 40); i += 1024)
    static_cast<volatile float *>(out)[i] = 1;
}

TLM_FAULT(fault_write_everywhere) {
  // Down over the operands and the heap, then it goes on as if nothing were.
  relu(args);
  float *out = static_cast<float *>(args[1]);
  for (int64_t i = -(1 << 18); i < 0; ++i)
    static_cast<volatile float *>(out)[i] = 1e30f;
}

TLM_FAULT(fault_wrong) {
  relu(args);
  static_cast<float *>(args[1])[kCount / 2] += 1;
}

TLM_FAULT(fault_unwritten) { (void)args; }

TLM_FAULT(fault_nan) {
  relu(args);
  static_cast<float *>(args[1])[3] = __builtin_nanf("");
}

TLM_FAULT(fault_exit) {
  (void)args;
  _exit(0);
}

TLM_FAULT(fault_exit_seven) {
  (void)args;
  _exit(7);
}

TLM_FAULT(fault_abort) {
  (void)args;
  std::abort();
}

TLM_FAULT(fault_illegal) {
  (void)args;
  __builtin_trap();
}

TLM_FAULT(fault_close) {
  relu(args);
  for (int file = 0; file < 256; ++file)
    close(file);
}

TLM_FAULT(fault_scribble) {
  // Bytes into whatever is open, the pipe to the parent among it.
  relu(args);
  char junk[300];
  for (char &c : junk)
    c = 0x5a;
  for (int file = 3; file < 64; ++file)
    if (write(file, junk, sizeof junk) < 0)
      continue;
  _exit(0);
}

TLM_FAULT(fault_fork) {
  relu(args);
  if (fork() == 0)
    for (;;)
      pause();
}
