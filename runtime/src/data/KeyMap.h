//===- KeyMap.h - Keys of data under other names --------------------------===//

#pragma once

#include "base/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace hone::rt {

/// The argument of --map: "prompt=question,completion=answer". A key that
/// another stands for is not looked at under its own name; "text=" leaves one
/// out.
class KeyMap {
public:
  KeyMap() = default;
  /// Errors: WrongOption for keys that no format has, or twice.
  static Result<KeyMap> parse(const std::string &text);

  bool isEmpty() const { return pairs.empty(); }
  /// Hone's name of a file's `key`; null: it has none.
  const std::string *nameOf(const std::string &key) const;

private:
  std::vector<std::pair<std::string, std::string>>
      pairs; ///< Hone's, the file's
};

} // namespace hone::rt
