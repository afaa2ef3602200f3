//===- KeyMap.cpp - Keys of data under other names ------------------------===//

#include "data/KeyMap.h"

#include "data/DataLines.h"

#include <algorithm>

namespace hone::rt {

static Status bad(const std::string &problem) {
  return Status(ErrorCode::WrongOption, "--map", problem,
                "write --map prompt=question,completion=answer: Hone's key, "
                "then the file's");
}

Result<KeyMap> KeyMap::parse(const std::string &text) {
  KeyMap map;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, end - at);
    at = end + 1;
    const size_t sign = pair.find('=');
    if (sign == std::string::npos)
      return bad("expects KEY=KEY but got '" + pair + "'");
    const std::string own = pair.substr(0, sign), other = pair.substr(sign + 1);
    if (!DataLines::isKey(own) && own != "role" && own != "content")
      return bad("'" + own + "' is a key of no data format");
    for (const auto &[knownOwn, knownOther] : map.pairs)
      if (knownOwn == own || (!other.empty() && knownOther == other))
        return bad("'" + (knownOwn == own ? own : other) + "' is there twice");
    map.pairs.emplace_back(own, other);
  }
  return std::move(map);
}

const std::string *KeyMap::nameOf(const std::string &key) const {
  const std::string *name = &key;
  for (const auto &[own, other] : pairs) {
    if (other == key)
      return &own;
    if (own == key)
      name = nullptr;
  }
  return name;
}

} // namespace hone::rt
