//===- ReportFile.h - report.html on the disk -----------------------------===//
//
// HTML needs no closing tags: the page is a beginning, the same in all pages,
// and lines that are appended, each by one call. So it is whole whenever the
// process ends, and a run that resumes cuts lines off its end. No run fails for
// its report: an error is said once, and then nothing more is written.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "platform/Files.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

/// The beginning of every page. Lines follow it, and nothing is loaded from
/// elsewhere.
std::string reportHead(std::string_view title);

/// Where the lines of the page `text` begin; npos if it is none of this
/// version's.
size_t reportLinesAt(std::string_view text);

class ReportFile {
public:
  ReportFile() = default; ///< writes nothing

  /// A page without lines, in the place of a file at `path`.
  void create(const std::string &path, std::string_view title);

  /// Goes on in the page at `path` with its lines of the first `completed`
  /// steps, at least one. False, with the file as it was, unless it is a page
  /// that has all steps until then.
  bool resume(const std::string &path, uint64_t completed);

  /// Goes on after all that a page at `path` has. False if it is none.
  bool extend(const std::string &path);

  bool isOpen() const { return file.isOpen(); }
  void append(std::string_view line);

private:
  bool openAt(const std::string &path, uint64_t size);
  void giveUp(const std::string &doing, const std::string &reason);

  platform::File file;
  std::string path;
  uint64_t size = 0; ///< bytes of the page that are whole
};

} // namespace hone::rt
