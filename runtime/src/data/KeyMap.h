//===- KeyMap.h - Keys of data under other names --------------------------===//

#pragma once

#include "base/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace hone::rt {

/// What --map says: "prompt=question,completion=answer". A key that another
/// stands for is not looked at where it is itself; "text=" leaves one out.
class KeyMap {
public:
  KeyMap() = default;
  /// Errors: WrongOption for keys that no format has, or twice.
  static Result<KeyMap> parse(const std::string &text);

  bool isEmpty() const { return pairs.empty(); }
  /// What `key` of a file is to Hone; null: nothing.
  const std::string *nameOf(const std::string &key) const;

private:
  std::vector<std::pair<std::string, std::string>>
      pairs; ///< Hone's, the file's
};

} // namespace hone::rt
