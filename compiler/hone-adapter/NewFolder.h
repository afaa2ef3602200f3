//===- NewFolder.h - A folder that is whole or gone -----------------------===//
//
// Each file appears whole; the one that makes the folder what it is comes last,
// so a folder that a kill left half-made is not taken for a model. On errors
// and signals what was written is removed.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_HONE_ADAPTER_NEWFOLDER_H
#define HONE_COMPILER_HONE_ADAPTER_NEWFOLDER_H

#include "base/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace hone {

class NewFolder {
public:
  NewFolder() = default;
  ~NewFolder();
  NewFolder(NewFolder &&other) = default;
  NewFolder &operator=(NewFolder &&other) = default;

  /// Makes the folder, unless an empty one is there. Errors: CannotCreate.
  static rt::Result<NewFolder> create(const std::string &path);

  std::string pathOf(std::string_view file) const;
  /// That `file` is written.
  void wrote(std::string_view file);
  rt::Status write(std::string_view file, std::string_view text);
  /// Copies the file at `from`. Errors: NoInput, IoError.
  rt::Status copy(std::string_view file, const std::string &from);
  /// What is there stays.
  void keep();

private:
  std::string folder; ///< empty: nothing to remove
  bool isNew = false;
  std::vector<std::string> files;
};

} // namespace hone

#endif
