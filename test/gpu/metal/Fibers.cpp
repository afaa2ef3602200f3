//===- Fibers.cpp - Threads of a workgroup, one at a time -----------------===//

#include "Fibers.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace hone::metal {

/// Unoptimised kernels have a place for each value.
static constexpr size_t StackBytes = 512 * 1024;

/// The owner of enter(): a fiber begins without arguments.
static Workgroup *entering = nullptr;

#ifdef __x86_64__

// Keeps the registers that a function must keep on its stack. A system call
// for each switch, as in swapcontext, would take most of the time.
extern "C" void hone_metal_switch(void **from, void *to);
asm(R"(
.text
.globl hone_metal_switch
.type hone_metal_switch,@function
hone_metal_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hone_metal_switch,.-hone_metal_switch
)");

struct Context {
  void *stack = nullptr;

  void start(char *memory, size_t bytes, void (*entry)()) {
    // As if entry had been called from nowhere: the stack was aligned to 16
    // bytes before its return address was pushed.
    void **top = reinterpret_cast<void **>(memory + bytes) - 3;
    *top = nullptr;
    *--top = reinterpret_cast<void *>(entry);
    for (int i = 0; i < 6; ++i)
      *--top = nullptr;
    stack = top;
  }
  void switchTo(Context &other) { hone_metal_switch(&stack, other.stack); }
};

#else

struct Context {
  ucontext_t context;

  void start(char *memory, size_t bytes, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = memory;
    context.uc_stack.ss_size = bytes;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
  void switchTo(Context &other) { swapcontext(&context, &other.context); }
};

#endif

struct Workgroup::Fiber {
  Context context;
  char *memory = nullptr;
  State state = State::Ready;
  /// Values by turn: the next exchange does not overwrite values that are still
  /// read.
  uint32_t offered[2] = {0, 0};
  unsigned turn = 0;

  ~Fiber() {
    if (memory)
      munmap(memory, StackBytes);
  }
};

Workgroup::Workgroup(uint32_t threads) : scheduler(new Fiber) {
  const long page = sysconf(_SC_PAGESIZE);
  for (uint32_t i = 0; i < threads; ++i) {
    fibers.push_back(std::make_unique<Fiber>());
    void *memory = mmap(nullptr, StackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      abort();
    fibers.back()->memory = static_cast<char *>(memory);
    mprotect(memory, size_t(page), PROT_NONE);
  }
}

Workgroup::~Workgroup() = default;

void Workgroup::enter() {
  Workgroup &group = *entering;
  for (;;) {
    (*group.body)(group.current);
    group.fibers[group.current]->state = State::Done;
    group.yield();
  }
}

void Workgroup::yield() {
  fibers[current]->context.switchTo(scheduler->context);
}

void Workgroup::wait(State state) {
  fibers[current]->state = state;
  yield();
}

void Workgroup::waitForAll() { wait(State::AtBarrier); }

void Workgroup::waitForSubgroup() { wait(State::AtSubgroup); }

uint32_t Workgroup::exchange(uint32_t value, uint32_t lane) {
  Fiber &self = *fibers[current];
  const uint32_t first = current / Lanes * Lanes;
  const unsigned turn = self.turn++ % 2;
  self.offered[turn] = value;
  wait(State::AtExchange);
  return fibers[first + lane % Lanes]->offered[turn];
}

bool Workgroup::release() {
  auto areAll = [&](size_t begin, size_t end, State state) {
    return std::all_of(fibers.begin() + long(begin), fibers.begin() + long(end),
                       [&](auto &fiber) { return fiber->state == state; });
  };
  auto letGo = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      fibers[i]->state = State::Ready;
    return true;
  };
  if (areAll(0, fibers.size(), State::AtBarrier))
    return letGo(0, fibers.size());
  bool isAny = false;
  for (size_t i = 0; i < fibers.size(); i += Lanes) {
    const size_t end = std::min(fibers.size(), i + Lanes);
    if (areAll(i, end, State::AtSubgroup) || areAll(i, end, State::AtExchange))
      isAny = letGo(i, end);
  }
  return isAny;
}

std::string Workgroup::divergence() const {
  static const char *const words[] = {"goes on", "waits for all",
                                      "waits for its subgroup",
                                      "exchanges a value", "has ended"};
  std::string text = "threads wait for each other for ever:";
  for (size_t i = 0; i < fibers.size(); ++i)
    if (i == 0 || fibers[i]->state != fibers[i - 1]->state)
      text += " from " + std::to_string(i) + " on " +
              words[size_t(fibers[i]->state)] + ";";
  return text;
}

std::string Workgroup::run(const std::function<void(uint32_t)> &given,
                           Order order) {
  body = &given;
  entering = this;
  std::vector<uint32_t> turns;
  for (uint32_t i = 0; i < fibers.size(); ++i) {
    fibers[i]->context.start(fibers[i]->memory, StackBytes, enter);
    fibers[i]->state = State::Ready;
    turns.push_back(i);
  }
  if (order == Order::Descending)
    std::reverse(turns.begin(), turns.end());
  for (;;) {
    if (order == Order::Random)
      std::shuffle(turns.begin(), turns.end(), random);
    for (uint32_t thread : turns) {
      if (fibers[thread]->state != State::Ready)
        continue;
      current = thread;
      scheduler->context.switchTo(fibers[thread]->context);
    }
    if (std::all_of(fibers.begin(), fibers.end(),
                    [](auto &fiber) { return fiber->state == State::Done; }))
      return "";
    if (!release())
      return divergence();
  }
}

} // namespace hone::metal
