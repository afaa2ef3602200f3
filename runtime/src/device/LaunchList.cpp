//===- LaunchList.cpp - Launches that repeat become a graph ---------------===//

#include "device/LaunchList.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

using namespace cuda;

void LaunchList::clear() {
  for (Known &each : known)
    forget(each);
  known.clear();
  gathered = {};
}

void LaunchList::forget(Known &each) {
  if (each.executable)
    (void)driver.destroyExecutable(each.executable);
  if (each.graph)
    (void)driver.destroyGraph(each.graph);
}

uint64_t LaunchList::hostBytes() const {
  uint64_t bytes = gathered.hostBytes();
  for (const Known &each : known)
    bytes +=
        each.last.hostBytes() + each.nodes.capacity() * sizeof(GraphNode *);
  return bytes;
}

void LaunchList::use(const hone_module &given,
                     const std::vector<Function *> &given_functions) {
  module = &given;
  functions = &given_functions;
  uint32_t fields = 0;
  for (uint32_t i = 0; i < given.kernel_count; ++i) {
    const hone_kernel &kernel = given.kernels[i];
    fields = std::max(fields, kernel.field_count);
    size_t end = 0;
    for (uint32_t k = 0; k < kernel.field_count; ++k)
      end = std::max<size_t>(end,
                             kernel.fields[k].offset + kernel.fields[k].bytes);
    sizes.push_back((end + 15) / 16 * 16);
  }
  arguments.resize(fields);
  gathered.list.reserve(MostLaunches);
  gathered.bytes.reserve(MostBytes);
}

bool LaunchList::hasRoom(uint32_t kernel) const {
  return gathered.list.size() < MostLaunches &&
         gathered.bytes.size() + closureBytes(kernel) <= MostBytes;
}

void LaunchList::add(uint32_t kernel, const void *closure, unsigned groups) {
  gathered.list.push_back({kernel, groups, gathered.bytes.size()});
  // Only fields are compared and read: bytes between them may be anything.
  gathered.bytes.resize(gathered.bytes.size() + closureBytes(kernel));
  char *to = gathered.bytes.data() + gathered.list.back().closure;
  const hone_kernel &described = module->kernels[kernel];
  for (uint32_t i = 0; i < described.field_count; ++i) {
    const hone_field &field = described.fields[i];
    memcpy(to + field.offset, static_cast<const char *>(closure) + field.offset,
           field.bytes);
  }
}

KernelNode LaunchList::nodeOf(Launches &launches, const Launch &launch) {
  const hone_kernel &kernel = module->kernels[launch.kernel];
  for (uint32_t i = 0; i < kernel.field_count; ++i)
    arguments[i] =
        launches.bytes.data() + launch.closure + kernel.fields[i].offset;
  return {(*functions)[launch.kernel],
          launch.groups,
          1,
          1,
          kernel.threads,
          1,
          1,
          kernel.shared_bytes,
          arguments.data(),
          nullptr};
}

Code LaunchList::launchAll(Stream *stream) {
  for (const Launch &launch : gathered.list) {
    const KernelNode node = nodeOf(gathered, launch);
    if (Code code =
            driver.launch(node.function, node.gridX, node.gridY, node.gridZ,
                          node.blockX, node.blockY, node.blockZ,
                          node.sharedBytes, stream, node.arguments, nullptr);
        code != kSuccess)
      return code;
  }
  return kSuccess;
}

Code LaunchList::build(Known &each) {
  Code code = driver.createGraph(&each.graph, 0);
  each.nodes.reserve(gathered.list.size());
  for (const Launch &launch : gathered.list) {
    if (code != kSuccess)
      return code;
    // Each waits for the one before, as in a stream.
    GraphNode *node = nullptr;
    const KernelNode described = nodeOf(gathered, launch);
    code = driver.addKernelNode(
        &node, each.graph, each.nodes.empty() ? nullptr : &each.nodes.back(),
        each.nodes.empty() ? 0 : 1, &described);
    each.nodes.push_back(node);
  }
  if (code == kSuccess)
    code = driver.instantiate(&each.executable, each.graph, 0);
  return code;
}

Code LaunchList::update(Known &each) {
  for (size_t i = 0; i < gathered.list.size(); ++i) {
    const Launch &now = gathered.list[i], &before = each.last.list[i];
    if (now.groups == before.groups &&
        memcmp(gathered.bytes.data() + now.closure,
               each.last.bytes.data() + before.closure,
               closureBytes(now.kernel)) == 0)
      continue;
    const KernelNode node = nodeOf(gathered, now);
    if (Code code = driver.setKernelNode(each.executable, each.nodes[i], &node);
        code != kSuccess)
      return code;
    ++changed;
  }
  return kSuccess;
}

Code LaunchList::flush(Stream *stream) {
  if (gathered.list.empty())
    return kSuccess;
  auto isSame = [&](const Known &each) {
    return std::equal(
        each.last.list.begin(), each.last.list.end(), gathered.list.begin(),
        gathered.list.end(),
        [](const Launch &a, const Launch &b) { return a.kernel == b.kernel; });
  };
  auto found = std::find_if(known.begin(), known.end(), isSame);
  Code code = kSuccess;
  bool isGraph = false;
  if (isRefused || gathered.list.size() < LeastLaunches) {
    found = known.end();
  } else if (found == known.end()) {
    if (known.size() == MostGraphs) {
      forget(known.front());
      known.pop_front();
    }
    known.emplace_back().last = gathered;
  } else {
    code = found->executable ? update(*found) : build(*found);
    isGraph = code == kSuccess;
    // If the driver cannot make a graph, kernels are launched one by one.
    isRefused = !isGraph;
  }
  if (isGraph) {
    found->last = gathered;
    code = driver.launchGraph(found->executable, stream);
    ++launchedGraphs;
    inGraphs += gathered.list.size();
  } else {
    code = launchAll(stream);
    oneByOne += gathered.list.size();
  }
  gathered.list.clear();
  gathered.bytes.clear();
  return code;
}

std::string LaunchList::describe(uint64_t timed) const {
  const std::string single = std::to_string(oneByOne + timed);
  std::string text = std::to_string(inGraphs + oneByOne + timed) + ": ";
  if (inGraphs)
    return text + std::to_string(inGraphs) + " in " +
           std::to_string(launchedGraphs) + " CUDA graphs, where " +
           std::to_string(changed) + " were changed, and " + single +
           " one by one";
  text += "one by one";
  if (isRefused)
    return text + ", since the driver makes no CUDA graphs";
  return timed ? text + ", so that each has its time" : text;
}

} // namespace hone::rt
