//===- Parts.h - An input that stands for several files -------------------===//
//
// Some readers take a folder. Their inputs are its files one after another,
// with a line between two that libFuzzer learns soon and an editor shows.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace hone::fuzz {

/// The parts between the lines "--8<--". At least one part.
inline std::vector<std::string_view> split(std::string_view input) {
  static constexpr std::string_view Line = "\n--8<--\n";
  std::vector<std::string_view> parts;
  for (size_t at = 0; at != std::string_view::npos;) {
    size_t end = input.find(Line, at);
    parts.push_back(input.substr(at, end - at));
    at = end == std::string_view::npos ? end : end + Line.size();
  }
  return parts;
}

/// A folder in memory, one for the process.
class Folder {
public:
  Folder() {
    char name[] = "/dev/shm/hone-fuzz-XXXXXX";
    if (!mkdtemp(name))
      std::abort();
    path = name;
  }
  ~Folder() {
    for (const std::string &file : files)
      unlink((path + "/" + file).c_str());
    rmdir(path.c_str());
  }

  /// Makes `name` hold `bytes`, or be absent when they are empty.
  void write(const std::string &name, std::string_view bytes) {
    std::string file = path + "/" + name;
    files.insert(name);
    if (bytes.empty()) {
      unlink(file.c_str());
      return;
    }
    FILE *out = fopen(file.c_str(), "wb");
    if (!out || fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size() ||
        fclose(out) != 0)
      std::abort();
  }

  std::string path;

private:
  std::set<std::string> files;
};

/// An error must say where and what to do.
template <typename Status> void requireMessage(const Status &status) {
  if (status.message().place.empty() || status.message().remedy.empty())
    std::abort();
}

} // namespace hone::fuzz
