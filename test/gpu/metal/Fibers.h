//===- Fibers.h - Threads of a workgroup, one at a time -------------------===//
//
// Each thread has a stack of its own and runs until it waits for others. Whom
// it waits for is known, so a barrier that some of them never reach is found.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace hone::metal {

/// Which thread runs next, of those that can.
enum class Order { Ascending, Descending, Random };

class Workgroup {
public:
  static constexpr uint32_t Lanes = 32; ///< of a subgroup

  explicit Workgroup(uint32_t threads);
  ~Workgroup();

  /// Calls body(thread) for all threads until each has returned. Empty, or why
  /// some never will.
  std::string run(const std::function<void(uint32_t)> &body, Order order);

  // For the body, on its own stack.
  void waitForAll();
  void waitForSubgroup();
  /// The simultaneous argument of this subgroup's thread on `lane`.
  uint32_t exchange(uint32_t value, uint32_t lane);
  uint32_t lane() const { return current % Lanes; }

private:
  enum class State : uint8_t { Ready, AtBarrier, AtSubgroup, AtExchange, Done };
  struct Fiber;

  static void enter();
  void yield();
  void wait(State state);
  /// Lets those go on whose wait is over; whether there are any.
  bool release();
  std::string divergence() const;

  std::vector<std::unique_ptr<Fiber>> fibers;
  std::unique_ptr<Fiber> scheduler;
  const std::function<void(uint32_t)> *body = nullptr;
  uint32_t current = 0;
  std::mt19937 random;
};

} // namespace hone::metal
