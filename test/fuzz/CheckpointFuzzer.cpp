//===- CheckpointFuzzer.cpp - Any folder as a checkpoint ------------------===//
//
// libFuzzer target; parts: trainer.json, state.safetensors, MANIFEST.json.
// Without the third the manifest is made to agree with the others, as after a
// deliberate edit; else hashes would end every run at the first byte.
//
//===----------------------------------------------------------------------===//

#include "formats/Checkpoint.h"

#include "Parts.h"
#include "base/Sha256.h"

#include <algorithm>
#include <sys/stat.h>

using namespace hone;

static std::string manifestOf(std::string_view trainer,
                              std::string_view state) {
  auto entry = [](const char *name, std::string_view bytes) {
    return std::string("\"") + name + "\":{\"sha256\":\"" +
           rt::Sha256::hex(bytes) +
           "\",\"size\":" + std::to_string(bytes.size()) + "}";
  };
  return "{\"files\":{" + entry("state.safetensors", state) + "," +
         entry("trainer.json", trainer) + "},\"format_version\":1,\"step\":3}";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::Folder folder;
  static rt::CheckpointStore store = [] {
    rt::Result<rt::CheckpointStore> opened =
        rt::CheckpointStore::open(folder.path);
    if (!opened.isOk())
      std::abort();
    mkdir((folder.path + "/checkpoint-000003").c_str(), 0777);
    return std::move(opened.value());
  }();
  auto parts = fuzz::split({reinterpret_cast<const char *>(data), size});
  const bool hasManifest = parts.size() > 2;
  parts.resize(3);
  std::string manifest(parts[2]);
  if (!hasManifest)
    manifest = manifestOf(parts[0], parts[1]);
  folder.write("checkpoint-000003/trainer.json", parts[0]);
  folder.write("checkpoint-000003/state.safetensors", parts[1]);
  folder.write("checkpoint-000003/MANIFEST.json", manifest);

  float theta[6];
  std::fill(std::begin(theta), std::end(theta), 7.0f);
  rt::Result<rt::CheckpointStore::Found> found = store.newest();
  const bool isFound = found.isOk() && !found.value().directory.empty();
  rt::Status read = rt::Status::ok();
  if (isFound)
    read = store.read(found.value(), {{"theta", rt::Dtype::F32, 6, theta}});
  const bool changed = std::any_of(std::begin(theta), std::end(theta),
                                   [](float x) { return x != 7.0f; });
  if (!found.isOk())
    fuzz::requireMessage(found.status());
  else if (!isFound && found.value().notes.empty())
    std::abort(); // passed over without a word
  if (!read.isOk())
    fuzz::requireMessage(read);
  if (changed && !(isFound && read.isOk()))
    std::abort();
  return 0;
}
