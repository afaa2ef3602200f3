//===- TemporaryFolder.h - A folder that lives as long as one test --------===//
//
// Removed with everything in it when the object goes.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "hone-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const std::string &name) const { return path + "/" + name; }

  /// Writes `bytes` to the file `name` and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

  std::string read(const std::string &name) const {
    std::ifstream stream(file(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }

  /// Names in `name` (the folder itself by default).
  size_t count(const std::string &name = "") const {
    size_t n = 0;
    for (auto &entry : std::filesystem::directory_iterator(file(name)))
      n += !entry.path().empty();
    return n;
  }

  std::string path;
};
