//===- DropBarriers.cpp - A step's kernels without one of their barriers --===//
//
// drop-barriers CASE [SKIP EVERY]
//
// Runs the launches of a recorded case (CaseFile.h), and the first of each
// kernel again without each of its barriers, one by one. A bit that is another
// then, and no fault, is a fault that the machine misses: exit code 1. A
// barrier without which neither happens is redundant, or stands where this
// launch did not need it; those are counted. With SKIP and EVERY, of the
// kernels each EVERYth from the SKIPth on.
//
//===----------------------------------------------------------------------===//

#include "CaseFile.h"
#include "Machine.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace hone::ptx;

namespace {

/// The contents of a launch record.
struct Recorded {
  const Module *module = nullptr;
  const Kernel *kernel = nullptr;
  std::array<uint32_t, 3> grid, block;
  uint32_t shared = 0;
  std::vector<std::string> values;
};

class Audit {
public:
  Audit(uint64_t skip, uint64_t every)
      : machine(Machine::create({})), skip(skip), every(every) {}

  /// False: the file is no case, or a launch fails as it is.
  bool run(std::string_view file);
  void print() const;
  bool foundHoles() const { return holes > 0; }

private:
  using Image = std::map<uint64_t, std::string>; ///< by address

  void store(CaseRecords &records);
  Recorded read(CaseRecords &records);
  bool launch(const Recorded &recorded);
  void dropEach(const Recorded &recorded, const Image &before,
                const Image &after);
  Image image();
  void restore(const Image &image);

  std::unique_ptr<Machine> machine;
  uint64_t skip, every;
  std::vector<const Module *> modules;
  std::map<uint32_t, uint64_t> allocations; ///< addresses by number
  std::set<std::string> seen;
  uint64_t kernels = 0, barriers = 0, reported = 0, redundant = 0, holes = 0;
};

} // namespace

Audit::Image Audit::image() {
  Image image;
  machine->memory().visit([&](const Region &region) {
    image[region.start].assign(machine->memory().data(region.start),
                               region.bytes);
  });
  return image;
}

void Audit::restore(const Image &image) {
  for (const auto &[address, bytes] : image)
    memcpy(machine->memory().data(address), bytes.data(), bytes.size());
}

void Audit::store(CaseRecords &records) {
  auto found = allocations.find(records.get<uint32_t>());
  const auto offset = records.get<uint64_t>();
  std::string_view data = records.take(records.get<uint64_t>());
  if (found == allocations.end() || !records.isGood) {
    records.isGood = false;
    return;
  }
  Memory &memory = machine->memory();
  const uint64_t at = found->second + offset;
  if (!memory.find(at, data.size())) {
    records.isGood = false;
    return;
  }
  memcpy(memory.data(at), data.data(), data.size());
  memory.shadow().setWritten(memory.offset(at), data.size(), true);
}

Recorded Audit::read(CaseRecords &records) {
  Recorded recorded;
  const auto module = records.get<uint32_t>();
  const std::string name(records.take(records.get<uint32_t>()));
  for (auto *sizes : {&recorded.grid, &recorded.block})
    for (uint32_t &size : *sizes)
      size = records.get<uint32_t>();
  recorded.shared = records.get<uint32_t>();
  recorded.values.resize(std::min<uint32_t>(records.get<uint32_t>(), 4096));
  for (std::string &value : recorded.values) {
    const auto bytes = records.get<uint32_t>();
    const auto id = records.get<uint32_t>();
    value = std::string(records.take(bytes));
    if (id == kNoAllocation || !records.isGood)
      continue;
    uint64_t address = 0;
    if (!allocations.count(id) || bytes != sizeof(address)) {
      records.isGood = false;
      break;
    }
    memcpy(&address, value.data(), sizeof(address));
    address += allocations.at(id);
    memcpy(value.data(), &address, sizeof(address));
  }
  if (module >= modules.size() || !records.isGood) {
    records.isGood = false;
    return recorded;
  }
  recorded.module = modules[module];
  recorded.kernel = recorded.module->find(name);
  records.isGood = recorded.kernel != nullptr;
  return recorded;
}

bool Audit::launch(const Recorded &recorded) {
  std::vector<const void *> arguments;
  for (const std::string &value : recorded.values)
    arguments.push_back(value.data());
  std::string error;
  machine->clearFaults();
  return machine->launch(*recorded.module, *recorded.kernel, recorded.grid,
                         recorded.block, recorded.shared, arguments.data(),
                         error);
}

void Audit::dropEach(const Recorded &recorded, const Image &before,
                     const Image &after) {
  unsigned count = 0;
  for (const Instruction &instruction : recorded.kernel->code)
    count += instruction.kind == Kind::Barrier;
  Options &options = machine->options();
  options.droppedKernel = recorded.kernel->name;
  // A loop of lanes that wait for nobody need not end.
  options.instructionLimit = 200'000'000;
  for (unsigned barrier = 0; barrier < count; ++barrier) {
    options.droppedBarrier = barrier;
    restore(before);
    const bool isFault = !launch(recorded);
    const bool isChanged = image() != after;
    ++barriers;
    if (isFault) {
      ++reported;
    } else if (!isChanged) {
      ++redundant;
    } else {
      ++holes;
      printf("%s: without barrier %u bits change and nothing is reported\n",
             recorded.kernel->name.c_str(), barrier);
    }
  }
  options.droppedKernel.clear();
  machine->clearFaults();
  restore(after);
}

bool Audit::run(std::string_view file) {
  CaseRecords records(file);
  if (!machine || records.take(strlen(kCaseHeader)) != kCaseHeader)
    return false;
  while (!records.isAtEnd()) {
    switch (records.get<char>()) {
    case 'M': {
      std::string error;
      modules.push_back(
          machine->load(records.take(records.get<uint64_t>()), error));
      records.isGood = records.isGood && modules.back();
      break;
    }
    case 'A': {
      const auto id = records.get<uint32_t>();
      const auto bytes = records.get<uint64_t>();
      allocations[id] = machine->memory().allocate(bytes);
      records.isGood = records.isGood && allocations[id];
      break;
    }
    case 'F': {
      const auto id = records.get<uint32_t>();
      if (allocations.count(id))
        machine->memory().free(allocations[id]);
      allocations.erase(id);
      break;
    }
    case 'W':
    case 'E': // left by the launch already
      store(records);
      break;
    case 'N': // the machine's own bits are always the same
      break;
    case 'T':
      records.take(sizeof(uint32_t) + sizeof(uint64_t) + 1);
      for (auto count = records.get<uint64_t>(); count && records.isGood;
           --count)
        records.take(sizeof(Near));
      break;
    case 'L': {
      const Recorded recorded = read(records);
      if (!records.isGood)
        break;
      const bool isNew = seen.insert(recorded.kernel->name).second;
      const bool isAudited = isNew && (seen.size() - 1) % every == skip % every;
      const Image before = isAudited ? image() : Image();
      if (!launch(recorded)) {
        printf("%s fails as it is\n", recorded.kernel->name.c_str());
        return false;
      }
      if (!isAudited)
        break;
      ++kernels;
      dropEach(recorded, before, image());
      break;
    }
    default:
      records.isGood = false;
    }
  }
  return records.isGood;
}

void Audit::print() const {
  printf("%llu kernels, %llu barriers: %llu reported, %llu redundant, %llu "
         "change bits unreported\n",
         (unsigned long long)kernels, (unsigned long long)barriers,
         (unsigned long long)reported, (unsigned long long)redundant,
         (unsigned long long)holes);
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 4) {
    fputs("usage: drop-barriers CASE [SKIP EVERY]\n", stderr);
    return 2;
  }
  std::ifstream stream(argv[1], std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  const uint64_t every = argc == 4 ? strtoull(argv[3], nullptr, 10) : 1;
  Audit audit(argc == 4 ? strtoull(argv[2], nullptr, 10) : 0,
              every ? every : 1);
  const bool isRead = audit.run(file);
  audit.print();
  if (!isRead)
    fprintf(stderr, "%s: no case that can be run\n", argv[1]);
  return isRead && !audit.foundHoles() ? 0 : 1;
}
