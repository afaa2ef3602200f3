//===- AdapterBase.h - The model that an adapter was trained on -----------===//
//
// All that can be known is a name and shapes: adapter_config.json may name its
// base model, by a folder or as on the Hub, and many models share all shapes.
// So another name is said, and other shapes are an error.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "module/Config.h"

#include <string>

namespace hone::rt {

/// Whether two names of models, folders or those of a hub, can be of one: their
/// last parts are the same but for upper and lower case.
bool mayBeSameModel(const std::string &one, const std::string &other);

/// A sentence on the base model that the adapter in `directory` names, if it is
/// another than the program's; else empty.
std::string describeOtherBase(const std::string &directory,
                              const ModuleConfig &config);

/// `status`, an error of that adapter, with that sentence.
Status nameOtherBase(const Status &status, const std::string &directory,
                     const ModuleConfig &config);

} // namespace hone::rt
