#include "measure/Child.h"

#include "base/Check.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace tlm;
using Clock = std::chrono::steady_clock;

namespace {

/// What a child that ran out of memory exits with.
constexpr int kOutOfMemory = 77;

/// Allocates nothing: also called from a signal handler.
int64_t addressSpaceBytes() {
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[64] = {};
  ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0)
    close(file);
  int64_t pages = 0;
  for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i)
    pages = 10 * pages + (text[i] - '0');
  return pages * sysconf(_SC_PAGESIZE);
}

/// Of the child: above it, memory has run out.
int64_t nearlyAll = 0;

/// Whoever writes through what malloc returned when memory had run out has not
/// crashed for another reason.
void onBadAccess(int number) {
  if (addressSpaceBytes() > nearlyAll)
    _exit(kOutOfMemory);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

[[noreturn]] void child(const ChildLimits &limits, int out, int taken,
                        pid_t parent,
                        const std::function<void(const SendRecord &)> &body) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1); // it died before that
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  int64_t before = addressSpaceBytes();
  nearlyAll = before + limits.memoryBytes / 4 * 3;
  rlim_t most = rlim_t(before + limits.memoryBytes);
  rlimit memory = {most, most};
  setrlimit(RLIMIT_AS, &memory);
  std::set_new_handler([] { _exit(kOutOfMemory); });
  // A crash is the candidate's, whoever else handles signals.
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT})
    std::signal(number, SIG_DFL);
  struct sigaction action = {};
  action.sa_handler = onBadAccess;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  body([out, taken](const void *data, size_t bytes) {
    const char *at = static_cast<const char *>(data);
    while (bytes > 0) {
      ssize_t written = write(out, at, bytes);
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        _exit(1);
      at += written;
      bytes -= size_t(written);
    }
    uint64_t one = 0;
    while (read(taken, &one, sizeof one) < 0 && errno == EINTR)
      ;
  });
  _exit(0);
}

} // namespace

ChildEnd
tlm::runInChild(const ChildLimits &limits, size_t recordBytes,
                const std::function<void(const SendRecord &)> &body,
                const std::function<void(const void *record)> &onRecord) {
  int ends[2];
  TLM_CHECK(pipe2(ends, O_CLOEXEC) == 0) << "pipe2: errno " << errno;
  // Counts the records that this process is done with.
  int taken = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  TLM_CHECK(taken >= 0) << "eventfd: errno " << errno;
  std::fflush(nullptr);
  pid_t parent = getpid(), pid = fork();
  TLM_CHECK(pid >= 0) << "fork: errno " << errno;
  if (pid == 0) {
    close(ends[0]);
    child(limits, ends[1], taken, parent, body);
  }
  setpgid(pid, pid); // whoever comes first
  close(ends[1]);

  int process = int(syscall(SYS_pidfd_open, pid, 0));
  TLM_CHECK(process >= 0) << "pidfd_open: errno " << errno;
  std::vector<char> buffer(recordBytes);
  size_t filled = 0;
  bool timedOut = false;
  auto deadline = [&] {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(limits.seconds));
  };
  for (Clock::time_point end = deadline();;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    if (left.count() <= 0) {
      timedOut = true;
      break;
    }
    // The pipe may outlive the child in a process that it started.
    pollfd waiting[] = {{ends[0], POLLIN, 0}, {process, POLLIN, 0}};
    int ready = poll(waiting, 2, int(left.count()) + 1);
    if (ready <= 0)
      continue;
    if (!waiting[0].revents)
      break;
    ssize_t got = read(ends[0], buffer.data() + filled, recordBytes - filled);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break; // closed: it has ended
    filled += size_t(got);
    if (filled == recordBytes) {
      onRecord(buffer.data());
      filled = 0;
      eventfd_write(taken, 1);
      end = deadline();
    }
  }
  close(ends[0]);
  close(taken);
  close(process);
  // The child itself first: when it has ended, its status is kept. What it
  // started goes with the group.
  if (timedOut)
    kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  kill(-pid, SIGKILL);
  if (timedOut)
    return {ChildEnd::Kind::TimedOut, 0};
  if (WIFSIGNALED(status))
    return {ChildEnd::Kind::Signal, WTERMSIG(status)};
  if (WEXITSTATUS(status) == kOutOfMemory)
    return {ChildEnd::Kind::OutOfMemory, 0};
  if (WEXITSTATUS(status) != 0)
    return {ChildEnd::Kind::Exited, WEXITSTATUS(status)};
  return {ChildEnd::Kind::Finished, 0};
}
