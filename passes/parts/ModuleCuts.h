//===- ModuleCuts.h - Modules that take about as long ---------------------===//

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone {

/// Cuts layers, each of which takes `seconds`, into `modules` of one layer or
/// more, so that the slowest takes the least time; among such cuts the lowest
/// module has most layers, then the next one. Returns how many layers are below
/// each cut. There are as many layers as modules.
std::vector<int64_t> cutEvenly(const std::vector<double> &seconds,
                               size_t modules);

} // namespace hone
