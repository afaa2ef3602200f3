//===- Recorder.cpp - Launches as cases for a device ----------------------===//

#include "Recorder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace hone::ptx {

std::unique_ptr<Recorder> Recorder::fromEnvironment() {
  static int machines = 0;
  const char *prefix = getenv("HONE_PTX_RECORD");
  if (!prefix)
    return nullptr;
  const std::string path =
      std::string(prefix) + "-" + std::to_string(++machines) + ".case";
  FILE *file = fopen(path.c_str(), "wb");
  if (!file) {
    perror(path.c_str());
    exit(2);
  }
  fputs(kCaseHeader, file);
  return std::unique_ptr<Recorder>(new Recorder(file));
}

Recorder::~Recorder() { fclose(file); }

void Recorder::begin(Memory &memory, const std::deque<Module> &loaded) {
  // A variable of a text is no allocation of the host's.
  std::set<uint64_t> declared;
  for (const Module &module : loaded)
    declared.insert(module.allocations.begin(), module.allocations.end());
  std::map<uint64_t, uint64_t> now;
  memory.visit([&](const Region &region) {
    if (!declared.count(region.start))
      now[region.start] = region.bytes;
  });
  for (auto each = regions.begin(); each != regions.end();) {
    auto found = now.find(each->first);
    if (found != now.end() && found->second == each->second.bytes) {
      ++each;
      continue;
    }
    put('F');
    put(each->second.id);
    each = regions.erase(each);
  }
  for (auto [address, bytes] : now) {
    auto [each, isNew] = regions.try_emplace(address);
    Known &known = each->second;
    if (isNew) {
      known = {allocations++, bytes, std::vector<char>(bytes),
               std::vector<char>(bytes), std::vector<bool>(bytes)};
      put('A');
      put(known.id);
      put(bytes);
    }
    memcpy(known.before.data(), memory.data(address), bytes);
  }
}

void Recorder::putBytes(char kind, Known &region, uint64_t offset,
                        uint64_t bytes, const char *data) {
  put(kind);
  put(region.id);
  put(offset);
  put(bytes);
  fwrite(data, bytes, 1, file);
  know(region, offset, bytes, data);
}

void Recorder::know(Known &region, uint64_t offset, uint64_t bytes,
                    const char *data) {
  memcpy(region.replayed.data() + offset, data, bytes);
  std::fill_n(region.isThere.begin() + int64_t(offset), bytes, true);
}

/// Whether PTX leaves the bits of the kernel's results open.
static bool hasMatrixUnits(const Launch &launch) {
  return std::any_of(launch.kernel->code.begin(), launch.kernel->code.end(),
                     [&](const Instruction &each) {
                       const std::string &line =
                           launch.module->lines[each.line - 1];
                       return line.find("mma.") != std::string::npos;
                     });
}

/// each(first, count) for the runs of bytes below `bytes` that are `wanted`. A
/// run goes on over a few bytes that are `allowed`: records cost bytes, too.
template <typename Wanted, typename Allowed, typename Each>
static void forRuns(uint64_t bytes, Wanted wanted, Allowed allowed, Each each) {
  constexpr uint64_t kFew = 16;
  for (uint64_t first = 0; first < bytes; ++first) {
    if (!wanted(first))
      continue;
    uint64_t end = first + 1;
    for (uint64_t at = end; at < bytes && at - end < kFew; ++at)
      if (wanted(at))
        end = at + 1;
      else if (!allowed(at))
        break;
    each(first, end - first);
    first = end;
  }
}

void Recorder::end(Memory &memory, const Launch &launch) {
  auto [module, isNew] =
      modules.try_emplace(launch.module, uint32_t(modules.size()));
  if (isNew) {
    std::string text;
    for (const std::string &line : launch.module->lines)
      text += line + "\n";
    put('M');
    put(uint64_t(text.size()));
    fwrite(text.data(), text.size(), 1, file);
  }
  if (!isNear && hasMatrixUnits(launch)) {
    isNear = true;
    put('N');
  }
  Shadow &shadow = memory.shadow();
  std::vector<std::vector<uint8_t>> writes;
  for (auto &entry : regions) {
    Known &region = entry.second;
    const uint64_t at = memory.offset(entry.first);
    std::vector<uint8_t> read(region.bytes), &wrote = writes.emplace_back();
    wrote.resize(region.bytes);
    for (uint64_t i = 0; i < region.bytes; ++i) {
      const Shadow::Touched touched = shadow.touched(at + i, launch.startTime);
      read[i] = touched.read;
      wrote[i] = touched.written;
    }
    auto isNews = [&](uint64_t i) {
      return read[i] &&
             !(region.isThere[i] && region.replayed[i] == region.before[i]);
    };
    auto isRead = [&](uint64_t i) { return read[i] != 0; };
    forRuns(region.bytes, isNews, isRead, [&](uint64_t first, uint64_t count) {
      putBytes('W', region, first, count, region.before.data() + first);
    });
  }

  put('L');
  put(module->second);
  put(uint32_t(launch.kernel->name.size()));
  fwrite(launch.kernel->name.data(), launch.kernel->name.size(), 1, file);
  for (const auto &sizes : {launch.grid, launch.block})
    for (uint32_t size : sizes)
      put(size);
  put(launch.dynamicShared);
  put(uint32_t(launch.kernel->parameters.size()));
  for (const Parameter &parameter : launch.kernel->parameters) {
    const char *value = launch.parameters.data() + parameter.offset;
    uint64_t address = 0;
    const Region *region = nullptr;
    if (parameter.bytes == sizeof(address)) {
      memcpy(&address, value, sizeof(address));
      region = memory.contains(address) ? memory.find(address, 0) : nullptr;
    }
    auto known = region ? regions.find(region->start) : regions.end();
    put(parameter.bytes);
    put(known == regions.end() ? kNoAllocation : known->second.id);
    if (known == regions.end())
      fwrite(value, parameter.bytes, 1, file);
    else
      put(address - region->start);
  }

  size_t number = 0;
  for (auto &entry : regions) {
    Known &region = entry.second;
    const char *data = memory.data(entry.first);
    const std::vector<uint8_t> &wrote = writes[number++];
    auto isWritten = [&](uint64_t i) { return wrote[i] != 0; };
    forRuns(region.bytes, isWritten, isWritten,
            [&](uint64_t first, uint64_t count) {
              if (isNear)
                know(region, first, count, data + first);
              else
                putBytes('E', region, first, count, data + first);
            });
  }
  fflush(file);
}

void Recorder::expect(const Memory &memory, uint64_t address, uint8_t bytes,
                      const std::vector<Near> &numbers) {
  const Region *region = memory.find(address, 0);
  auto known = region ? regions.find(region->start) : regions.end();
  if (known == regions.end())
    return;
  const std::vector<bool> &isThere = known->second.isThere;
  const uint64_t start = address - region->start;
  // A device has the bytes that launches have read or written, and no others.
  auto isKnown = [&](uint64_t i) { return isThere[start + i * bytes]; };
  auto isNoGap = [](uint64_t) { return false; };
  forRuns(numbers.size(), isKnown, isNoGap,
          [&](uint64_t first, uint64_t count) {
            put('T');
            put(known->second.id);
            put(start + first * bytes);
            put(bytes);
            put(count);
            for (uint64_t i = first; i < first + count; ++i) {
              put(numbers[i].value);
              put(numbers[i].most);
            }
          });
  fflush(file);
}

} // namespace hone::ptx
