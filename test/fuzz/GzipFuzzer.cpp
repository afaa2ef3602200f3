//===- GzipFuzzer.cpp - Any bytes as a compressed file --------------------===//
//
// libFuzzer target. The output is no longer than the bytes may grow to.
//
//===----------------------------------------------------------------------===//

#include "data/Gzip.h"

#include "Parts.h"

using namespace hone::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hone::fuzz::Folder folder;
  std::string bytes(reinterpret_cast<const char *>(data), size);
  if (bytes.empty())
    return 0;
  folder.write("input.gz", bytes);
  const MappedFile file = [&] {
    Result<MappedFile> opened = MappedFile::open(folder.path + "/input.gz");
    return std::move(opened.value());
  }();
  Result<OutputFile> out = OutputFile::createUnnamed(folder.path);
  const Status status = decompress(file, out.value(), {});
  if (!status.isOk())
    hone::fuzz::requireMessage(status);
  if (out.value().size() > 64 * 1024 * 1024)
    std::abort();
  return 0;
}
