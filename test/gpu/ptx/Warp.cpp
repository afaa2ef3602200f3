//===- Warp.cpp - 32 lanes that execute a kernel --------------------------===//

#include "Warp.h"

#include "Workgroup.h"

namespace hone::ptx {

static std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
  return text;
}

Warp::Warp(Workgroup &group, uint32_t index, char *registers)
    : group(group), index(index), registers(registers) {
  local.resize(size_t(group.kernel.localBytes) * kLanes);
  localWritten.resize(local.size());
}

void Warp::begin(unsigned threads) {
  started = threads == kLanes ? ~0u : (1u << threads) - 1;
  live = current = started;
  pc = 0;
  reconvergence = kNone;
  now = group.epoch;
  paths.clear();
  lanePcs = {};
  laneStates = {};
  isUnfenced = wasUnfenced = false;
  copies.clear();
  batches = {};
  products.clear();
  productBatches = 0;
  localWritten.assign(localWritten.size(), 0);
}

Warp::State Warp::run() {
  return group.machine.options().lanesOneByOne ? runOneByOne() : runTogether();
}

void Warp::pass() {
  now = group.epoch;
  wasUnfenced |= isUnfenced;
  if (!live)
    return;
  ++pc;
  lanePcs.fill(pc);
}

void Warp::synchronize() { now = group.machine.tick(); }

bool Warp::isBarrier(const Instruction &instruction) const {
  if (instruction.kind != Kind::Barrier)
    return false;
  const Options &options = group.machine.options();
  if (options.droppedKernel.empty() ||
      options.droppedKernel != group.kernel.name)
    return true;
  unsigned before = 0;
  for (const Instruction *each = group.kernel.code.data(); each < &instruction;
       ++each)
    before += each->kind == Kind::Barrier;
  return before != options.droppedBarrier;
}

bool Warp::resume() {
  for (;;) {
    current &= live;
    if (current && pc != reconvergence)
      return true;
    if (paths.empty()) {
      // Nobody waits for these lanes: they go on where they are.
      reconvergence = kNone;
      return current != 0;
    }
    const Path path = paths.back();
    paths.pop_back();
    current = path.lanes;
    pc = path.pc;
    reconvergence = path.reconvergence;
  }
}

/// False: the next instruction is where the lanes go on, or others do first.
bool Warp::branch(const Instruction &instruction, uint32_t mask) {
  const uint32_t meet = instruction.reconvergence;
  const uint32_t rest = current & ~mask;
  if (rest == 0) {
    pc = instruction.target;
    return true;
  }
  if (mask == 0) {
    ++pc;
    return true;
  }
  if (meet == kNone || meet != reconvergence) {
    paths.push_back({current, meet == kNone ? pc : meet, reconvergence});
    if (meet == kNone)
      paths.pop_back(); // they never meet: each ends on its own
    else
      reconvergence = meet;
  }
  const uint32_t next = pc + 1;
  if (instruction.target == meet) {
    current = rest;
    pc = next;
  } else if (next == meet) {
    current = mask;
    pc = instruction.target;
  } else {
    paths.push_back({rest, next, reconvergence});
    current = mask;
    pc = instruction.target;
  }
  return true;
}

Warp::State Warp::runTogether() {
  const Instruction *code = group.kernel.code.data();
  uint64_t *executed = group.launch.counts->executed.data();
  uint64_t budget = group.instructionsLeft;
  for (;;) {
    if (pc == reconvergence && !resume())
      return Ended;
    const Instruction &instruction = code[pc];
    ++executed[pc];
    if (--budget == 0) {
      group.instructionsLeft = 0;
      fault(Fault::Stuck, instruction, 0, "the workgroup does not end");
      return Ended;
    }
    const uint32_t mask = guarded(instruction, current);
    switch (instruction.kind) {
    case Kind::Data:
      if (mask)
        instruction.run(*this, instruction, mask);
      ++pc;
      break;
    case Kind::Branch:
      branch(instruction, mask);
      break;
    case Kind::Exit:
      live &= ~mask;
      current &= ~mask;
      if (current)
        ++pc;
      else if (!resume()) {
        group.instructionsLeft = budget;
        return Ended;
      }
      break;
    case Kind::Barrier:
      if (!isBarrier(instruction)) {
        ++pc;
        break;
      }
      if (mask == 0) {
        ++pc;
        break;
      }
      group.instructionsLeft = budget;
      current = mask;
      return AtBarrier;
    }
  }
}

Warp::State Warp::runLane(unsigned lane) {
  const Instruction *code = group.kernel.code.data();
  uint64_t *executed = group.launch.counts->executed.data();
  uint32_t &at = lanePcs[lane];
  const uint32_t self = 1u << lane;
  for (;;) {
    const Instruction &instruction = code[at];
    if (instruction.warpWide || isBarrier(instruction))
      return AtBarrier;
    ++executed[at];
    if (--group.instructionsLeft == 0) {
      fault(Fault::Stuck, instruction, lane, "the workgroup does not end");
      live = 0;
      return Ended;
    }
    const bool active = guarded(instruction, self) != 0;
    switch (instruction.kind) {
    case Kind::Data:
      if (active)
        instruction.run(*this, instruction, self);
      ++at;
      break;
    case Kind::Barrier:
      ++at;
      break;
    case Kind::Branch:
      at = active ? instruction.target : at + 1;
      break;
    case Kind::Exit:
      if (active) {
        live &= ~self;
        return Ended;
      }
      ++at;
      break;
    }
  }
}

Warp::State Warp::runOneByOne() {
  const Instruction *code = group.kernel.code.data();
  const bool isDescending = group.machine.options().order == Order::Descending;
  for (;;) {
    for (unsigned i = 0; i < kLanes; ++i) {
      const unsigned lane = isDescending ? kLanes - 1 - i : i;
      if (live >> lane & 1)
        runLane(lane);
    }
    if (live == 0)
      return Ended;
    // The lanes that wait furthest ahead of a barrier meet first.
    uint32_t at = kNone;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if ((live >> lane & 1) && code[lanePcs[lane]].kind != Kind::Barrier)
        at = std::min(at, lanePcs[lane]);
    const bool isBarrier = at == kNone;
    for (unsigned lane = 0; isBarrier && lane < kLanes; ++lane)
      if (live >> lane & 1)
        at = std::min(at, lanePcs[lane]);
    uint32_t there = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if ((live >> lane & 1) && lanePcs[lane] == at)
        there |= 1u << lane;
    ++group.launch.counts->executed[at];
    const uint32_t mask = guarded(code[at], there);
    if (isBarrier && mask) {
      current = mask;
      pc = at;
      return AtBarrier;
    }
    if (mask)
      code[at].run(*this, code[at], mask);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      lanePcs[lane] += there >> lane & 1;
  }
}

void Warp::fault(Fault::Kind kind, const Instruction &instruction,
                 unsigned lane, const std::string &what) {
  const Module &module = *group.launch.module;
  Fault fault;
  fault.kind = kind;
  fault.kernel = group.kernel.name;
  fault.line = instruction.line;
  std::string text;
  if (instruction.line >= 1 && instruction.line <= module.lines.size())
    for (char c : module.lines[instruction.line - 1]) {
      if (c != '\t' && c != ' ')
        text += c;
      else if (!text.empty() && text.back() != ' ')
        text += ' ';
    }
  const std::string &location = module.locations[instruction.location];
  fault.message = "kernel " + group.kernel.name + ", line " +
                  std::to_string(instruction.line) +
                  (location.empty() ? "" : " (" + location + ")") + ": " +
                  nameOf(kind) + ": thread " +
                  std::to_string(index * kLanes + lane) + " of workgroup " +
                  std::to_string(group.place[0]) +
                  (group.place[1] || group.place[2]
                       ? "," + std::to_string(group.place[1]) + "," +
                             std::to_string(group.place[2])
                       : "") +
                  " at `" + text + "`: " + what;
  // The other place in the message tells faults of one line apart.
  const size_t other = what.rfind("line ");
  group.machine.add(std::move(fault),
                    other == std::string::npos
                        ? 0
                        : uint32_t(atoi(what.c_str() + other + 5)));
}

bool Warp::takesPart(const Instruction &instruction, uint32_t members,
                     uint32_t mask) {
  // A mask may name lanes that a smaller workgroup never had.
  if (members == mask || (members & started) == mask)
    return true;
  fault(Fault::DivergentWarp, instruction, unsigned(__builtin_ctz(mask)),
        "the lanes are " + hex(mask) + " where " + hex(members) +
            " must take part");
  return false;
}

Actor Warp::actor(const Instruction &instruction, Space space,
                  unsigned lane) const {
  return {now, group.epoch, group.startTime,
          // Shared memory is the workgroup's alone.
          space == Space::Shared ? group.startTime : group.launch.startTime,
          index * kLanes + lane,
          uint32_t(&instruction - group.kernel.code.data()), false,
          &group.needed};
}

const Region *Warp::regionOf(uint64_t address, unsigned bytes) {
  const Memory &memory = group.machine.memory();
  if (generation != memory.generation()) {
    lastRegion = nullptr;
    generation = memory.generation();
  }
  if (!lastRegion || address - lastRegion->start > lastRegion->bytes ||
      bytes > lastRegion->bytes - (address - lastRegion->start)) {
    const Region *found = memory.find(address, bytes);
    if (!found)
      return nullptr;
    lastRegion = found;
  }
  return lastRegion;
}

char *Warp::locate(const Instruction &instruction, Space &space,
                   uint64_t address, unsigned bytes, unsigned lane,
                   uint64_t &offset) {
  if (space == Space::Generic) {
    space = Space::Global;
    if (address - kSharedWindow < kWindowBytes) {
      space = Space::Shared;
      address -= kSharedWindow;
    } else if (address - kLocalWindow < kWindowBytes) {
      space = Space::Local;
      address -= kLocalWindow;
    }
  }
  auto outside = [&](const char *what, uint64_t size) -> char * {
    fault(Fault::OutOfBounds, instruction, lane,
          std::to_string(bytes) + " bytes at " +
              std::to_string(int64_t(address)) + " of " + what + " of " +
              std::to_string(size) + " bytes");
    return nullptr;
  };
  char *data = nullptr;
  switch (space) {
  case Space::Global: {
    Memory &memory = group.machine.memory();
    if (!regionOf(address, bytes)) {
      const Region *near = memory.nearest(address);
      fault(Fault::OutOfBounds, instruction, lane,
            std::to_string(bytes) + " bytes at " + hex(address) +
                (near ? ", " + std::to_string(address - near->start) +
                            " bytes after the start of an allocation of " +
                            std::to_string(near->bytes)
                      : ", before all allocations"));
      return nullptr;
    }
    offset = memory.offset(address);
    data = memory.data(address);
    break;
  }
  case Space::Shared:
    if (address > group.shared.size() || bytes > group.shared.size() - address)
      return outside("shared memory", group.shared.size());
    offset = address;
    data = group.shared.data() + address;
    break;
  case Space::Local: {
    const uint64_t size = group.kernel.localBytes;
    if (address > size || bytes > size - address)
      return outside("local memory", size);
    offset = lane * size + address;
    data = local.data() + offset;
    break;
  }
  case Space::Param: {
    const uint64_t size = group.launch.parameters.size();
    if (address > size || bytes > size - address)
      return outside("parameters", size);
    // Only reads are decoded.
    data = const_cast<char *>(group.launch.parameters.data()) + address;
    break;
  }
  case Space::Generic:
    break;
  }
  if (address & (bytes - 1)) {
    fault(Fault::Misaligned, instruction, lane,
          std::to_string(bytes) + " bytes at " + hex(address));
    return nullptr;
  }
  return data;
}

void Warp::tell(const Conflict &conflict, const Instruction &instruction,
                Space space, uint64_t address, unsigned bytes, unsigned lane,
                bool isWrite) {
  const char *memory = space == Space::Shared ? "shared" : "global";
  if (conflict.kind == Conflict::Unwritten)
    return fault(Fault::Unwritten, instruction, lane,
                 std::to_string(bytes) + " bytes of " + memory + " memory at " +
                     hex(address) + " are read that nobody wrote");
  const std::string line =
      std::to_string(group.kernel.code[conflict.instruction].line);
  const std::string verbs =
      std::string(isWrite ? "writes" : "reads") + " what " +
      (conflict.kind == Conflict::Groups
           ? "another workgroup"
           : "thread " + std::to_string(conflict.thread)) +
      (conflict.earlierWrote ? " writes" : " reads");
  fault(conflict.kind == Conflict::Groups ? Fault::RaceOfWorkgroups
                                          : Fault::Race,
        instruction, lane,
        verbs + " without an order, " + memory + " memory at " + hex(address) +
            ", line " + line);
}

char *Warp::access(const Instruction &instruction, Space space,
                   uint64_t address, unsigned bytes, unsigned lane,
                   bool isWrite, bool byWarp) {
  uint64_t offset = 0;
  char *data = locate(instruction, space, address, bytes, lane, offset);
  if (!data || space == Space::Param)
    return data;
  if (space == Space::Local) {
    if (isWrite) {
      memset(localWritten.data() + offset, 1, bytes);
    } else if (memchr(localWritten.data() + offset, 0, bytes)) {
      fault(Fault::Unwritten, instruction, lane,
            std::to_string(bytes) + " bytes of local memory");
      return nullptr;
    }
    return data;
  }
  isUnfenced |= isWrite && space == Space::Shared;
  Actor who = actor(instruction, space, lane);
  who.several = byWarp;
  Shadow &shadow = space == Space::Shared ? group.sharedShadow
                                          : group.machine.memory().shadow();
  if (instruction.isNonCoherent && !isWrite &&
      shadow.isWrittenSince(offset, bytes, who.launch))
    fault(Fault::NonCoherent, instruction, lane,
          "this launch writes what is read as constant");
  const Conflict conflict = isWrite ? shadow.write(offset, bytes, who)
                                    : shadow.read(offset, bytes, who);
  if (conflict.kind != Conflict::None)
    tell(conflict, instruction, space, address, bytes, lane, isWrite);
  return data;
}

template <bool isWrite, typename Place>
void Warp::accessLanes(const Instruction &instruction, uint32_t mask,
                       unsigned bytes, Place (&places)[kLanes]) {
  const Space space = instruction.space;
  isUnfenced |= isWrite && space == Space::Shared;
  uint64_t at[kLanes];
  eachLane(mask,
           [&](unsigned lane) { at[lane] = address(instruction, 0, lane); });
  // Most lanes access one allocation: the first lane's.
  uint64_t start = 0, size = 0, offset = 0;
  char *data = nullptr;
  Shadow *shadow = nullptr; // null: nobody else can interfere
  if (space == Space::Shared) {
    size = group.shared.size();
    data = group.shared.data();
    shadow = &group.sharedShadow;
  } else if (space == Space::Param) {
    size = group.launch.parameters.size();
    // Only reads are decoded.
    data = const_cast<char *>(group.launch.parameters.data());
  } else if (space == Space::Global && mask && !instruction.isNonCoherent) {
    if (const Region *region =
            regionOf(at[unsigned(__builtin_ctz(mask))], bytes)) {
      Memory &memory = group.machine.memory();
      start = region->start;
      size = region->bytes;
      offset = memory.offset(start);
      data = memory.data(start);
      shadow = &memory.shadow();
    }
  }
  Actor who = actor(instruction, space, 0);
  for (uint32_t rest = mask; rest;) {
    const unsigned lane = unsigned(__builtin_ctz(rest));
    const uint64_t address = at[lane], place = address - start;
    rest &= rest - 1;
    if (bytes > size || place > size - bytes || (address & (bytes - 1))) {
      places[lane] =
          access(instruction, space, address, bytes, lane, isWrite, false);
      continue;
    }
    places[lane] = data + place;
    // Lanes that read the same are neighbours, or those of the other half.
    who.several = false;
    auto readsToo = [&](unsigned other) {
      if (other >= kLanes || !(rest >> other & 1) || at[other] != address)
        return false;
      rest &= ~(1u << other);
      places[other] = data + place;
      return who.several = true;
    };
    if constexpr (!isWrite) {
      for (unsigned next = lane + 1; readsToo(next);)
        ++next;
      readsToo(lane + kLanes / 2);
    }
    if (!shadow)
      continue;
    who.thread = index * kLanes + lane;
    const Conflict conflict = isWrite
                                  ? shadow->write(offset + place, bytes, who)
                                  : shadow->read(offset + place, bytes, who);
    if (conflict.kind == Conflict::None)
      continue;
    // One of the readers, but not the writer itself.
    unsigned teller = lane;
    while (who.several && conflict.kind == Conflict::Threads &&
           (index * kLanes + teller == conflict.thread ||
            at[teller] != address || !(mask >> teller & 1)))
      ++teller;
    tell(conflict, instruction, space, address, bytes, teller, isWrite);
  }
}

const char *Warp::read(const Instruction &instruction, Space space,
                       uint64_t address, unsigned bytes, unsigned lane,
                       bool byWarp) {
  return access(instruction, space, address, bytes, lane, false, byWarp);
}

char *Warp::write(const Instruction &instruction, Space space, uint64_t address,
                  unsigned bytes, unsigned lane) {
  return access(instruction, space, address, bytes, lane, true, false);
}

void Warp::readLanes(const Instruction &instruction, uint32_t mask,
                     unsigned bytes, const char *(&from)[kLanes]) {
  accessLanes<false>(instruction, mask, bytes, from);
}

void Warp::writeLanes(const Instruction &instruction, uint32_t mask,
                      unsigned bytes, char *(&to)[kLanes]) {
  accessLanes<true>(instruction, mask, bytes, to);
}

} // namespace hone::ptx
