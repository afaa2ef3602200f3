//===- Toolchain.h - Programs of a spec, compiled or found again ----------===//

#pragma once

#include "base/Status.h"
#include "compiler/driver/Compile.h"
#include "compiler/hone/ProgramCache.h"

#include <string>
#include <vector>

namespace hone {

/// The source of programs: a spec file, or a model folder alone.
struct ProgramSource {
  std::string spec; ///< a file or a model folder
  std::vector<SpecOverride> overrides;
  std::vector<Program> programs;
};

class Toolchain {
public:
  /// `self` is this executable, beside whose folder the runtime is.
  explicit Toolchain(std::string self) : self(std::move(self)) {}

  /// Compiles unless the cache has the programs, and says which on standard
  /// error; with `isQuiet` only that it compiles. Errors: those of readSpec,
  /// ProgramCache and compile().
  Result<CachedPrograms> find(const ProgramSource &source,
                              bool isQuiet = false) const;

  /// Prints the plan of a spec; compiles nothing.
  Status printPlan(const ProgramSource &source, PlanFormat format) const;

private:
  CompileRequest requestFor(const ProgramSource &source) const;
  Result<std::string> identity() const;

  std::string self;
};

} // namespace hone
