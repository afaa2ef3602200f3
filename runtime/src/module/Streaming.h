//===- Streaming.h - Which pages of the weights are resident --------------===//

#ifndef HONE_RUNTIME_MODULE_STREAMING_H
#define HONE_RUNTIME_MODULE_STREAMING_H

#include <string_view>

namespace hone::rt {

/// The mapping that hone_release may drop pages of; nothing outside of it ever
/// is. One for the process: that of the weights file.
void setStreamedMapping(std::string_view bytes);

} // namespace hone::rt

#endif
