//===- KeyReference.h - The keys of a spec, for people --------------------===//
//
// Made from the table of module/Settings.h and the examples of KeyExamples.h
// and of the methods.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Settings.h"
#include "passes/methods/Method.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace hone {

/// As a spec writes it; empty: there is none.
std::string defaultOf(const rt::Setting &setting);

/// The settings of a spec with one part, which is called NAME.
rt::Settings settingsOfSpecs();

/// The settings that are described. Those of a part which are as of train are
/// left out: train's descriptions hold for them.
std::vector<const rt::Setting *> describedSettings(const rt::Settings &all);

/// Of all keys, in no order.
std::vector<KeyExample> allKeyExamples();

/// Every key with its type, default, allowed values and meaning.
std::string describeSpecKeys();

/// The same of some, each with an example. A name is a key, its last word
/// ("learning_rate"), an alias or a section ("lora"). Errors: UnknownKey.
Result<std::string> describeSpecKeys(llvm::ArrayRef<std::string> names);

/// docs/spec.md.
std::string specReferencePage();

} // namespace hone
