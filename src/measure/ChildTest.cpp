#include "measure/Child.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace tlm;

namespace {

using Kind = ChildEnd::Kind;

struct Outcome {
  ChildEnd end;
  std::vector<int> records;
};

Outcome runChild(const ChildLimits &limits,
                 const std::function<void(const SendRecord &)> &body) {
  Outcome outcome;
  outcome.end = runInChild(limits, sizeof(int), body, [&](const void *data) {
    int record = 0;
    std::memcpy(&record, data, sizeof record);
    outcome.records.push_back(record);
  });
  return outcome;
}

void sendNumber(const SendRecord &send, int number) {
  send(&number, sizeof number);
}

int openFiles() {
  int count = 0;
  for (int file = 0; file < 256; ++file)
    count += fcntl(file, F_GETFD) >= 0;
  return count;
}

} // namespace

TEST(Child, HandsRecordsOverInOrder) {
  Outcome outcome = runChild({}, [](const SendRecord &send) {
    for (int i = 0; i < 1000; ++i)
      sendNumber(send, i);
  });
  EXPECT_EQ(outcome.end.kind, Kind::Finished);
  ASSERT_EQ(outcome.records.size(), 1000u);
  EXPECT_EQ(outcome.records.back(), 999);
}

// The child does not run on while this process works on what it sent.
TEST(Child, WaitsUntilARecordIsTaken) {
  auto *taken =
      static_cast<int *>(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(taken, MAP_FAILED);
  std::vector<int> seen;
  runInChild(
      {}, sizeof(int),
      [&](const SendRecord &send) {
        for (int i = 0; i < 5; ++i)
          sendNumber(send, *taken);
      },
      [&](const void *data) {
        seen.push_back(0);
        std::memcpy(&seen.back(), data, sizeof(int));
        usleep(5000);
        ++*taken;
      });
  munmap(taken, sizeof(int));
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(Child, ReportsACrashWithWhatCameBefore) {
  Outcome outcome = runChild({}, [](const SendRecord &send) {
    sendNumber(send, 1);
    std::raise(SIGSEGV);
  });
  EXPECT_EQ(outcome.end.kind, Kind::Signal);
  EXPECT_EQ(outcome.end.number, SIGSEGV);
  EXPECT_EQ(outcome.records, std::vector<int>{1});
}

TEST(Child, IsKilledWhenItLoops) {
  Outcome outcome = runChild({.seconds = 0.2}, [](const SendRecord &) {
    for (;;)
      usleep(1000);
  });
  EXPECT_EQ(outcome.end.kind, Kind::TimedOut);
}

TEST(Child, IsStoppedAtItsMemoryLimit) {
  Outcome outcome = runChild({.seconds = 20, .memoryBytes = 64 << 20},
                             [](const SendRecord &) {
                               for (std::vector<std::vector<char>> all;;)
                                 all.emplace_back(1 << 20, 'x');
                             });
  EXPECT_EQ(outcome.end.kind, Kind::OutOfMemory);
}

TEST(Child, MayEndEarly) {
  Outcome outcome = runChild({}, [](const SendRecord &) { _exit(3); });
  EXPECT_EQ(outcome.end.kind, Kind::Exited);
  EXPECT_EQ(outcome.end.number, 3);
}

TEST(Child, TakesItsDescendantsWithIt) {
  pid_t grandchild = 0;
  runInChild(
      {}, sizeof(pid_t),
      [](const SendRecord &send) {
        pid_t pid = fork();
        if (pid == 0)
          for (;;)
            pause();
        send(&pid, sizeof pid);
      },
      [&](const void *data) { std::memcpy(&grandchild, data, sizeof(pid_t)); });
  ASSERT_GT(grandchild, 0);
  // init may still have to reap it.
  for (int i = 0; i < 200 && kill(grandchild, 0) == 0; ++i) {
    char path[64], state = 0;
    std::snprintf(path, sizeof path, "/proc/%d/stat", grandchild);
    if (FILE *file = std::fopen(path, "r")) {
      if (std::fscanf(file, "%*d %*s %c", &state) != 1)
        state = 0;
      std::fclose(file);
    }
    if (state == 'Z')
      return;
    usleep(10000);
  }
  EXPECT_NE(kill(grandchild, 0), 0);
}

TEST(Child, LeavesNothingOpen) {
  int before = openFiles();
  for (int i = 0; i < 20; ++i)
    runChild({}, [](const SendRecord &) { std::abort(); });
  EXPECT_EQ(openFiles(), before);
}
