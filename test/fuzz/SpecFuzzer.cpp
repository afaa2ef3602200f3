//===- SpecFuzzer.cpp - Any bytes as a spec -------------------------------===//
//
// libFuzzer target. Beyond not crashing: an accepted spec is written into the
// binary's configuration as JSON, which must be valid.
//
//===----------------------------------------------------------------------===//

#include "compiler/spec/Spec.h"

#include "Parts.h"
#include "base/Json.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  rt::Result<Spec> spec = parseSpec(text, "spec.yaml", {});
  if (!spec.isOk()) {
    fuzz::requireMessage(spec.status());
    return 0;
  }
  for (const char *section : {"weights", "lora", "train"})
    if (!rt::Json::parse(specSectionJson(spec.value(), section), section)
             .isOk())
      std::abort();
  return 0;
}
