//===- ControlFlow.cpp - Where lanes that part meet again -----------------===//
//
// Cooper, Harvey and Kennedy's dominators, on the reversed graph.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

#include <algorithm>

namespace hone::ptx {

void findReconvergence(std::vector<Instruction> &code) {
  const uint32_t count = uint32_t(code.size());
  std::vector<char> leads(count, 0);
  leads[0] = 1;
  for (uint32_t i = 0; i < count; ++i) {
    if (code[i].kind == Kind::Branch)
      leads[code[i].target] = 1;
    if ((code[i].kind == Kind::Branch || code[i].kind == Kind::Exit) &&
        i + 1 < count)
      leads[i + 1] = 1;
  }
  std::vector<uint32_t> first, blockOf(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (leads[i])
      first.push_back(i);
    blockOf[i] = uint32_t(first.size() - 1);
  }
  const uint32_t blocks = uint32_t(first.size()), end = blocks;
  auto lastOf = [&](uint32_t block) {
    return (block + 1 < blocks ? first[block + 1] : count) - 1;
  };
  std::vector<std::vector<uint32_t>> next(blocks + 1), before(blocks + 1);
  for (uint32_t block = 0; block < blocks; ++block) {
    const Instruction &last = code[lastOf(block)];
    auto edge = [&](uint32_t to) {
      next[block].push_back(to);
      before[to].push_back(block);
    };
    const bool guarded = last.guard != kNone;
    if (last.kind == Kind::Branch)
      edge(blockOf[last.target]);
    else if (last.kind == Kind::Exit)
      edge(end);
    if ((last.kind != Kind::Branch && last.kind != Kind::Exit) || guarded)
      edge(block + 1);
  }

  // Post-order of the reversed graph from the end.
  std::vector<uint32_t> number(blocks + 1, kNone), order;
  std::vector<std::pair<uint32_t, size_t>> path{{end, 0}};
  std::vector<char> seen(blocks + 1, 0);
  seen[end] = 1;
  while (!path.empty()) {
    auto &[block, at] = path.back();
    if (at < before[block].size()) {
      const uint32_t to = before[block][at++];
      if (!seen[to]) {
        seen[to] = 1;
        path.push_back({to, 0});
      }
      continue;
    }
    number[block] = uint32_t(order.size());
    order.push_back(block);
    path.pop_back();
  }
  std::vector<uint32_t> dominator(blocks + 1, kNone);
  dominator[end] = end;
  auto common = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b])
        a = dominator[a];
      while (number[b] < number[a])
        b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (*it == end)
        continue;
      uint32_t found = kNone;
      for (uint32_t to : next[*it])
        if (number[to] != kNone && dominator[to] != kNone)
          found = found == kNone ? to : common(found, to);
      if (dominator[*it] != found) {
        dominator[*it] = found;
        changed = true;
      }
    }
  }
  for (uint32_t block = 0; block < blocks; ++block) {
    Instruction &last = code[lastOf(block)];
    if (last.kind != Kind::Branch || last.guard == kNone)
      continue;
    const uint32_t meet = dominator[block];
    last.reconvergence = meet == kNone || meet == end ? kNone : first[meet];
  }
}

} // namespace hone::ptx
