//===- StepSettings.h - The settings of a step, for its passes ------------===//
//
// The attribute hone.method of a module: a spec's settings of methods, under
// the spec's names. A module without it trains by backprop.
//
//   hone.method = {method = "lcsb", selection_ratio = 0.3, compare = "mezo"}
//   hone.method = {lower = {layers = "0-4", method = "mezo"}, upper = {}}
//
// A dictionary is a part of that name; parts are in the order of their
// layers, and one without layers is the last.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/Method.h"
#include "passes/parts/LayerParts.h"

#include "mlir/IR/BuiltinOps.h"

#include <set>

namespace hone {

struct StepSettings : rt::Settings {
  /// Fails with a diagnostic at a name that is no setting, or at no value of
  /// one.
  static mlir::FailureOr<StepSettings> read(mlir::ModuleOp module);
  /// Writes the `settings` that passes read, so that read() has them again.
  static void write(const rt::Settings &settings, mlir::ModuleOp module);

  bool isGiven(const std::string &key) const { return given.count(key); }

private:
  std::set<std::string> given;
};

/// Derives settings that are not given from others: from the standards of
/// methods, and by their own rules.
void settleMethods(rt::Settings &settings, IsGiven isGiven);

/// Why no step reads `setting` of `own`, which `method` has; none: one does.
std::optional<Problem> findUnread(const rt::MethodSettings &own,
                                  llvm::StringRef method,
                                  const rt::Setting &setting);

/// The first rule of methods, or between them, that `settings` break. `layers`
/// is null as long as there is no model.
std::optional<Problem> findMethodProblem(
    const rt::Settings &settings, IsGiven isGiven,
    llvm::function_ref<LayerCounts(const rt::MethodSettings &own)> layers =
        nullptr);

/// Puts parts in the order of their layers; those that have none, or no range,
/// come last.
void orderParts(rt::Settings &settings);
/// For each part but the last, the number of layers below its end; 0 where its
/// layers are no range.
std::vector<int64_t> cutsOf(const rt::Settings &settings);
/// The cut that `settings` say; of a model without parts none. Fails as
/// LayerParts::cut does.
mlir::FailureOr<LayerParts> cutParts(const rt::Settings &settings,
                                     EntryOp loss);
/// The name of the part that `own` of `settings` is of; empty: of all layers.
llvm::StringRef partOf(const rt::Settings &settings,
                       const rt::MethodSettings &own);
/// Its place among the parts, from 0.
size_t placeOf(const rt::Settings &settings, const rt::MethodSettings &own);

} // namespace hone
