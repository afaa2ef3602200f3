//===- ProgramCache.h - Compiled programs that are found again ------------===//
//
// A folder for each combination of model and spec, compiler, and processor. It
// is made under another name and renamed when it is whole, and its programs are
// hashed before they are used again, so that the remains of an interrupted
// compilation, or a disk's errors, are never used. The weights beside them are
// checked by the program itself.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"
#include "compiler/spec/Spec.h"

#include <functional>
#include <string>
#include <vector>

namespace hone {

/// A folder with programs, their weights and the plan that was made for them.
struct CachedPrograms {
  std::string folder;
  rt::Json plan; ///< as MemoryPlan::json has it
  bool isNew = false;

  std::string path(const char *program) const { return folder + "/" + program; }
};

class ProgramCache {
public:
  /// In `folder`, which is made when it is needed.
  explicit ProgramCache(std::string folder) : folder(std::move(folder)) {}

  /// $HONE_CACHE, or hone/ in $XDG_CACHE_HOME, or in ~/.cache. Errors: NoInput
  /// if there is no home.
  static Result<std::string> defaultFolder();

  /// Of a spec, all of its settings and the model's files: small ones by their
  /// bytes, tensors by size and time. `compiler` names the compiler. Errors:
  /// CannotRead.
  static Result<std::string> keyOf(const Spec &spec,
                                   const std::string &compiler);

  /// Compiles into a folder and returns the plan as JSON.
  using Compile = std::function<Result<std::string>(const std::string &folder)>;
  /// The programs of `key`, which `compile` makes unless they are there and
  /// whole. Errors: CannotCreate, those of `compile`.
  Result<CachedPrograms> find(const std::string &key,
                              const Compile &compile) const;

private:
  bool read(CachedPrograms &programs) const;
  void removeAbandoned() const;

  std::string folder;
};

} // namespace hone
