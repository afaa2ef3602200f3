//===- SpecRules.h - Rules between the keys of a spec ---------------------===//
//
// Which keys go together, and the values of others that follow from them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/spec/Spec.h"
#include "passes/methods/Method.h"

namespace hone {

/// No spec has more bytes.
constexpr size_t mostSpecBytes = 1 << 16;

/// Checks that `text` is text as a person writes it, before a parser of YAML
/// sees it. Errors: Usage, naming `place`.
Status checkSpecText(llvm::StringRef text, const std::string &place);

/// Checks `spec` after every key is set, and sets defaults that follow from
/// other keys. Errors: Usage, naming the key.
Status checkSpec(Spec &spec);

/// Checks the rules of the methods of `spec`, which are theirs; those about the
/// model, too, with its `layers`. Errors: Usage, naming the key.
Status checkMethods(const Spec &spec,
                    llvm::function_ref<LayerCounts(const rt::MethodSettings &)>
                        layers = nullptr);

/// That the weights are stored in a type that they can train in, if they train:
/// those that only generate may be in any.
Status checkTrainedWeights(const Spec &spec);

} // namespace hone
