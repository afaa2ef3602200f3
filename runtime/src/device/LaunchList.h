//===- LaunchList.h - Launches that repeat become a graph -----------------===//
//
// A step launches the same kernels as the last one, mostly with the same
// arguments. Launches are gathered until somebody copies or waits; the second
// time that the same kernels come in the same order they become a graph, of
// which from then on only differing nodes are set anew. Other kernels are
// launched one by one.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/CudaDriver.h"

#include "hone/runtime.h"

#include <deque>
#include <string>
#include <vector>

namespace hone::rt {

class LaunchList {
  struct Launch {
    uint32_t kernel;
    unsigned groups;
    size_t closure; ///< where it begins in the bytes
  };

public:
  /// Launches that are gathered at most, and bytes of their closures.
  static constexpr size_t MostLaunches = 2048, MostBytes = 256 * 1024;
  /// With fewer, a graph is no gain.
  static constexpr size_t LeastLaunches = 4;
  /// Orders of kernels that are remembered.
  static constexpr size_t MostGraphs = 4;
  /// Of the host's memory, beside a driver's own for graphs.
  static constexpr uint64_t MostHostBytes =
      (1 + MostGraphs) * (MostLaunches * sizeof(Launch) + MostBytes) +
      MostGraphs * MostLaunches * sizeof(cuda::GraphNode *);

  explicit LaunchList(const CudaDriver &driver) : driver(driver) {}
  ~LaunchList() { clear(); }
  LaunchList(const LaunchList &) = delete;
  /// Forgets all graphs and gathered launches.
  void clear();
  /// The same, with nothing given back to a driver that does not answer.
  void abandon() { known.clear(); }

  /// The module of launches, and `functions` by the numbers of its kernels.
  /// Both must outlive the list.
  void use(const hone_module &module,
           const std::vector<cuda::Function *> &functions);

  /// Whether one more launch of `kernel` has room.
  bool hasRoom(uint32_t kernel) const;
  /// Gathers a launch of `groups` workgroups. `closure` is copied.
  void add(uint32_t kernel, const void *closure, unsigned groups);
  /// Brings all that was gathered to the stream.
  cuda::Code flush(cuda::Stream *stream);

  /// Of all flushes: how many were graphs, and of how many nodes something was
  /// set anew.
  uint64_t graphs() const { return launchedGraphs; }
  uint64_t changedNodes() const { return changed; }
  /// The same and the number of launches, in words. `timed` launches more were
  /// not gathered, since each was to have its time.
  std::string describe(uint64_t timed) const;
  /// The memory taken now, of which MostHostBytes is the bound.
  uint64_t hostBytes() const;

private:
  struct Launches {
    std::vector<Launch> list;
    std::vector<char> bytes;

    uint64_t hostBytes() const {
      return list.capacity() * sizeof(Launch) + bytes.capacity();
    }
  };
  /// An order of kernels that has come.
  struct Known {
    Launches last; ///< as the graph's nodes have them
    cuda::Graph *graph = nullptr;
    cuda::GraphExecutable *executable = nullptr; ///< null: it came once
    std::vector<cuda::GraphNode *> nodes;
  };

  size_t closureBytes(uint32_t kernel) const { return sizes[kernel]; }
  cuda::KernelNode nodeOf(Launches &launches, const Launch &launch);
  cuda::Code launchAll(cuda::Stream *stream);
  /// Makes the graph of the gathered launches.
  cuda::Code build(Known &known);
  /// Sets the nodes that differ from the last time.
  cuda::Code update(Known &known);
  void forget(Known &known);

  const CudaDriver &driver;
  const hone_module *module = nullptr;
  const std::vector<cuda::Function *> *functions = nullptr;
  std::vector<size_t> sizes; ///< of closures, by kernel
  std::vector<void *> arguments;
  Launches gathered;
  std::deque<Known> known; ///< the newest last
  bool isRefused = false;  ///< the driver makes no graphs
  uint64_t launchedGraphs = 0, changed = 0;
  uint64_t inGraphs = 0, oneByOne = 0; ///< launches
};

} // namespace hone::rt
