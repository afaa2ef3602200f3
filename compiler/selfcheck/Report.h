//===- Report.h - The result of a self-check ------------------------------===//

#pragma once

#include "base/Status.h"

#include <string>
#include <vector>

namespace hone::selfcheck {

/// Two ways to one number, and how far apart they are.
struct Check {
  std::string method;  ///< "adjoint identity"
  std::string subject; ///< "hone.rope of @decoder: self_attn.q_proj"
  double error;        ///< relative; NaN fails
  double limit;
  /// Of a failed check: what is wrong, as far as it can be told, such as
  /// "adjoint with respect to operand #0".
  std::string culprit = "";

  bool holds() const { return error <= limit; }
  /// Keeps the larger error, and `culprit` beside others if it is too large.
  void add(double found, const std::string &culprit);
};

struct Report {
  std::vector<Check> checks;

  bool holds() const;
  /// A line for each check, and one for all.
  std::string table() const;
  /// Errors: SelfCheckFailed, naming the first check that does not hold.
  Status status(const std::string &place) const;
};

} // namespace hone::selfcheck
