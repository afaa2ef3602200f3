//===- Repeats.cpp - An archive without its repeats -----------------------===//
//
// kit-repeats shorten|restore <IN >OUT
//
// Before gzip, and after it: see LongRepeats.h. Exit codes: 0 done, 1 the input
// cannot be read, is more than 4 GiB or is nothing that was shortened, 2 wrong
// command line, 4 the output cannot be written.
//
//===----------------------------------------------------------------------===//

#include "bench/gpu-kit/LongRepeats.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  const std::string_view way = argc == 2 ? argv[1] : "";
  if (way != "shorten" && way != "restore") {
    fprintf(stderr, "usage: kit-repeats shorten|restore <IN >OUT\n");
    return 2;
  }
  std::string bytes;
  char part[1 << 16];
  while (size_t count = fread(part, 1, sizeof(part), stdin))
    bytes.append(part, count);
  if (ferror(stdin)) {
    fprintf(stderr, "kit-repeats: the input cannot be read: %s\n",
            strerror(errno));
    return 1;
  }
  std::optional<std::string> result = way == "shorten"
                                          ? hone::shortenRepeats(bytes)
                                          : hone::restoreRepeats(bytes);
  if (!result) {
    fprintf(stderr, "kit-repeats: %s\n",
            way == "shorten"
                ? "the input is more than 4 GiB"
                : "the input is not what 'shorten' has written; it may have "
                  "been cut off");
    return 1;
  }
  if (fwrite(result->data(), 1, result->size(), stdout) != result->size() ||
      fflush(stdout) != 0) {
    fprintf(stderr, "kit-repeats: the output cannot be written\n");
    return 4;
  }
  return 0;
}
