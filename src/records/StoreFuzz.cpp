// libFuzzer: a store with damaged bytes. Whatever is in the file, reading it
// ends in records or in an error.

#include "base/Damaged.h"
#include "records/RecordTestData.h"
#include "records/Store.h"

#include <cstdlib>
#include <filesystem>

using namespace tlm;

namespace {

/// A folder of this process, in memory where there is such a place.
class Folder {
public:
  Folder() {
    std::string form = (std::filesystem::exists("/dev/shm")
                            ? std::filesystem::path("/dev/shm")
                            : std::filesystem::temp_directory_path()) /
                       "tlm-store-fuzz-XXXXXX";
    TLM_CHECK(::mkdtemp(form.data())) << form;
    path = form;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

std::string soundStore(const std::filesystem::path &path) {
  {
    Result<Store> store = Store::open(path, Store::Access::Create);
    TLM_CHECK(store && store->add(testSet(1, 5))) << path.string();
  }
  std::string bytes = *readWholeFile(path);
  std::filesystem::remove(path);
  return bytes;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  static const std::string sound = soundStore(folder.path / "sound.db");
  static const std::string task = testTask(0).key(),
                           target = targetKey(testTarget());
  std::filesystem::path path = folder.path / "store.db";
  TLM_CHECK(writeFileAtomically(path, damaged(sound, data, size)));
  for (bool examine : {true, false}) {
    Result<Store> store = Store::open(path, Store::Access::Read, examine);
    if (!store)
      continue;
    (void)store->stats();
    (void)store->damage();
    (void)store->targetTexts();
    (void)store->forEach({}, [](const Record &) { return success(); });
    (void)store->taskTexts();
    (void)store->find(task, target);
  }
  for (const char *end : {"", "-wal", "-shm"}) {
    std::error_code ignored;
    std::filesystem::remove(path.string() + end, ignored);
  }
  return 0;
}
