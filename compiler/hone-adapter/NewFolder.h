//===- NewFolder.h - A folder that is whole or gone -----------------------===//
//
// Files are written to a folder without a final name inside it, and appear
// together in commit(): the file that makes the folder a model comes last, so a
// folder that a kill left half-made is not taken for one. On errors and signals
// the written files are removed.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

class NewFolder {
public:
  NewFolder() = default;
  ~NewFolder();
  NewFolder(NewFolder &&other) noexcept
      : folder(std::exchange(other.folder, "")), scratch(other.scratch),
        isNew(other.isNew), files(std::move(other.files)) {}
  NewFolder &operator=(NewFolder &&) = delete;

  /// Makes the folder, unless an empty one is there. Errors: CannotCreate.
  static Result<NewFolder> create(const std::string &path);

  /// Where to write `file` until commit().
  std::string pathOf(std::string_view file) const;
  /// That `file` is written.
  void wrote(std::string_view file);
  Status write(std::string_view file, std::string_view text);
  /// Copies the file at `from`. Errors: NoInput, IoError.
  Status copy(std::string_view file, const std::string &from);
  /// Gives the files their names, in the order in which they were written.
  /// Errors: IoError.
  Status commit();

private:
  void forget();

  std::string folder; ///< empty: nothing to remove
  std::string scratch;
  bool isNew = false;
  std::vector<std::string> files;
};

} // namespace hone
