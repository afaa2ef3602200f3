//===- SafetensorsFuzzer.cpp - Any bytes as a safetensors file ------------===//
//
// libFuzzer target. Beyond not crashing: the tensors of an accepted file must
// lie in the file and fill it exactly.
//
//===----------------------------------------------------------------------===//

#include "formats/Safetensors.h"

#include "Parts.h"

using namespace hone::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  Result<SafetensorsHeader> parsed =
      SafetensorsHeader::parse(bytes, size, "input");
  if (!parsed.isOk()) {
    hone::fuzz::requireMessage(parsed.status());
    return 0;
  }
  const SafetensorsHeader &header = parsed.value();
  uint64_t total = 0;
  for (const TensorInfo &t : header.tensors) {
    bool inside = t.begin <= t.end && t.end <= size - header.bufferOffset;
    bool sized = t.elements() * dtypeBits(t.dtype) == t.bytes() * 8;
    if (!inside || !sized || header.find(t.name) != &t)
      std::abort();
    total += t.bytes();
  }
  if (header.bufferOffset + total != size)
    std::abort();
  return 0;
}
