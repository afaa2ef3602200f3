//===- Records.cpp - Which reader a file has ------------------------------===//

#include "data/Records.h"

#include <algorithm>

namespace hone::rt {

namespace {
struct RecordKind {
  FileKind kind;
  std::string_view endings; ///< with a space between them
  bool isTable;
  decltype(openTable) *open;
};
} // namespace

static constexpr RecordKind kinds[] = {
#define HONE_RECORD_KIND(NAME, ENDINGS, TABLE, OPEN)                           \
  {FileKind::NAME, ENDINGS, TABLE, OPEN},
    HONE_RECORD_KINDS(HONE_RECORD_KIND)
#undef HONE_RECORD_KIND
};

FileKind kindOf(std::string_view path) {
  std::string name(
      path.substr(path.size() - std::min<size_t>(path.size(), 16)));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  });
  const auto endsWith = [&](std::string_view ending) {
    return name.size() >= ending.size() &&
           name.compare(name.size() - ending.size(), ending.size(), ending) ==
               0;
  };
  if (endsWith(".gz"))
    name.resize(name.size() - 3);
  if (endsWith(".txt"))
    return FileKind::Text;
  for (const RecordKind &each : kinds)
    for (std::string_view left = each.endings; !left.empty();) {
      const std::string_view ending = left.substr(0, left.find(' '));
      if (endsWith(ending))
        return each.kind;
      left.remove_prefix(std::min(ending.size() + 1, left.size()));
    }
  return FileKind::Unnamed;
}

static const RecordKind *find(FileKind kind) {
  const auto *found =
      std::find_if(std::begin(kinds), std::end(kinds),
                   [&](const RecordKind &each) { return each.kind == kind; });
  return found == std::end(kinds) ? nullptr : found;
}

bool isTable(FileKind kind) {
  const RecordKind *known = find(kind);
  return known && known->isTable;
}

std::unique_ptr<Records> openRecords(std::string_view content,
                                     const std::string &path,
                                     HoldsJson holdsJson) {
  const FileKind kind = kindOf(path);
  const RecordKind *known = find(kind);
  return (known ? known->open : openJsonRecords)(content, path, kind,
                                                 std::move(holdsJson));
}

} // namespace hone::rt
