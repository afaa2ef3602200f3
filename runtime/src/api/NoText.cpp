//===- NoText.cpp - Text where libhone_text.a is not linked ---------------===//
//
// A linker looks for missing functions in archives, in their order:
// libhone_text.a stands in front of this one and has the same two.
//
//===----------------------------------------------------------------------===//

#include "hone/hone.h"

extern "C" {

hone_result hone_tokenize(hone_session *, const char *, uint64_t, int32_t *,
                          uint64_t, uint64_t *) {
  return HONE_UNSUPPORTED;
}

hone_result hone_detokenize(hone_session *, const int32_t *, uint64_t, char *,
                            uint64_t, uint64_t *) {
  return HONE_UNSUPPORTED;
}

} // extern "C"
