//===- Method.h - The compiler's description of a method ------------------===//
//
// One description for each method, made by the function that the list in
// MethodSettings.h names. README.md says how one is added.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Settings.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>

namespace hone {

class StepMethod;
struct StepModel;
struct TrainedPart;

/// The comparison of --self-check for a method, beside the gradient itself.
class GradientCheck {
public:
  enum Kind {
    Gradient,      ///< nothing: it has the gradient
    Tangent,       ///< the derivative along a direction, with the gradient's
    PerturbedLoss, ///< the loss along a direction, with the loss there
  };
  /// There is no other constructor, so a method that says nothing of how it is
  /// checked does not compile.
  constexpr GradientCheck(Kind kind) : kind(kind) {}
  constexpr operator Kind() const { return kind; }

private:
  Kind kind;
};

/// A rule that settings break. Its reporter says where they are from.
struct Problem {
  const rt::Setting &setting;
  std::string problem; ///< "expected at most 3, ..., but found 4"
  std::string remedy;
  ErrorCode code = ErrorCode::KeysDisagree;
};

/// Whether the user wrote the key.
using IsGiven = llvm::function_ref<bool(const std::string &key)>;

struct LayerCounts {
  int64_t model;   ///< of the whole model
  int64_t trained; ///< of the part, with parameters that train
  /// Whether the call that makes the input of the part's lowest layer trains,
  /// too.
  bool trainsSource = false;
};

/// The facts that the rules of a method judge.
struct MethodFacts {
  const rt::Settings &settings;
  const rt::MethodSettings &own; ///< of those, the method's
  llvm::StringRef method;        ///< that of `own`, or which is compared
  IsGiven isGiven;
  std::optional<LayerCounts> layers; ///< none: there is no model yet

  bool isCompared() const { return method != own.method; }
};

/// A spec that shows the use of a key; the manual has it.
struct KeyExample {
  const char *key;
  const char *spec; ///< without `model`, if that is a folder
};

struct Method {
  GradientCheck check;
  /// Creates its part in a step; null: the methods of a step that have a
  /// backward share one.
  std::unique_ptr<StepMethod> (*create)(StepModel &model,
                                        const TrainedPart &part) = nullptr;
  /// Whether a step has a backward of some layers only.
  bool selects = false;
  /// Whether plans choose each layer's residuals; null: it keeps none.
  bool (*choosesResiduals)(const rt::MethodSettings &own) = nullptr;
  /// Derives settings that are not given from others.
  void (*settle)(rt::MethodSettings &own,
                 llvm::function_ref<bool(const rt::Setting &)> isGiven) =
      nullptr;
  /// Why no step reads `setting`, one of its own; none: one does.
  std::optional<Problem> (*findUnread)(const rt::MethodSettings &own,
                                       const rt::Setting &setting) = nullptr;
  /// The first of its rules that is broken.
  std::optional<Problem> (*findProblem)(const MethodFacts &facts) = nullptr;
  /// An example of each setting of its own, once for methods that share one.
  llvm::ArrayRef<KeyExample> examples = {};
};

/// Null: there is none of this name.
const Method *findMethod(llvm::StringRef name);

} // namespace hone
