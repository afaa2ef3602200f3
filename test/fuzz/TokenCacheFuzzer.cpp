//===- TokenCacheFuzzer.cpp - Any bytes as a token cache ------------------===//
//
// libFuzzer target. Beyond not crashing: every sample of an accepted cache lies
// in it and has ids and targets that the model has.
//
//===----------------------------------------------------------------------===//

#include "data/TokenCache.h"

#include "Parts.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static constexpr int64_t Vocabulary = 300, Longest = 16;
  static fuzz::Folder folder;
  folder.write("cache", {reinterpret_cast<const char *>(data), size});
  rt::Result<rt::MappedFile> file =
      rt::MappedFile::open(folder.path + "/cache");
  if (!file.isOk()) {
    fuzz::requireMessage(file.status());
    return 0;
  }
  rt::Result<rt::TokenCache> opened =
      rt::TokenCache::open(std::move(file.value()), Vocabulary, Longest);
  if (!opened.isOk()) {
    fuzz::requireMessage(opened.status());
    return 0;
  }
  const rt::TokenCache &cache = opened.value();
  for (uint64_t i = 0; i < cache.footer().samples; ++i) {
    const uint64_t length = cache.length(i);
    if (length == 0 || length > uint64_t(Longest))
      std::abort();
    for (uint64_t k = 0; k < length; ++k) {
      const int32_t id = cache.ids(i)[k], target = cache.targets(i)[k];
      if (id < 0 || id >= Vocabulary || target >= Vocabulary ||
          (target < 0 && target != rt::NoTarget))
        std::abort();
    }
  }
  (void)cache.notes();
  return 0;
}
