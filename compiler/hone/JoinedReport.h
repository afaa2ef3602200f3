//===- JoinedReport.h - One page of several runs --------------------------===//

#pragma once

#include "base/Status.h"

#include <string>
#include <vector>

namespace hone {

/// The report of a run's folder, or the page itself. Errors: CannotRead.
Result<std::string> reportOf(const std::string &run);

/// Writes a page with the data of the reports of `runs`. Nothing of them is
/// believed: lines that train does not write are left out and counted. Errors:
/// CannotRead for a file that is no report, CannotCreate where `output` is
/// another file than such a page, WriteFailed.
Status joinReports(const std::vector<std::string> &runs,
                   const std::string &output);

} // namespace hone
