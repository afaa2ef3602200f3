//===- GpuCases.cpp - Whether a device computes what the PTX machine does -===//
//
// gpu-cases [--device N] [--seconds N] [--texts FOLDER] RESULTS.jsonl CASE...
//
// Runs the launches of each file (test/gpu/ptx/CaseFile.h) and compares all
// memory after each with the machine's: every byte, written or not. A
// difference is told, and put right before the next launch, so that each launch
// is judged by itself. Where kernels have matrix units, numbers must be near a
// reference's. RESULTS gets a line for each case, at once. Where ptxas's code
// of a text lies beside its case, HASH.sm_90.cubin, that is loaded. FOLDER,
// which must be there, gets each text: HASH.ptx.
//
// A kernel that ends its context, or never ends, takes a child process along:
// another goes on with the next case. Exit codes: 0 all passed, 1 not all, 2
// wrong command line, 3 no driver or no such device, 4 RESULTS cannot be
// written.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/CaseFile.h"

#include "base/Json.h"
#include "base/MappedFile.h"
#include "base/Sha256.h"
#include "device/CudaDriver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hone::rt;
using namespace hone::rt::cuda;
using hone::ptx::CaseRecords;

namespace {

/// The byte of unwritten memory: NaN in all float types.
constexpr unsigned char kNobody = 0xff;
/// Launches of a case, or buffers with numbers that are far, that are told.
constexpr size_t kToldLaunches = 5;
/// A case takes milliseconds; its text may have to be compiled.
constexpr int kCaseSeconds = 60;

struct Allocation {
  Address address = 0;
  std::string expected; ///< all of its bytes
};

class CaseRun {
public:
  /// ptxas's code for devices of `capability` may be in `folder`, and texts go
  /// to `texts`: paths with their separator, or nothing.
  CaseRun(const CudaDriver &driver, Stream *stream, int capability,
          std::string folder, std::string texts)
      : driver(driver), stream(stream), capability(capability),
        folder(std::move(folder)), texts(std::move(texts)) {}
  ~CaseRun();

  void run(std::string_view file);

  /// Empty: passed.
  std::string problem;
  uint64_t launches = 0, wrongLaunches = 0, bytes = 0;
  uint64_t nearNumbers = 0; ///< that were compared with a reference
  double worst = 0;         ///< distance over the allowed one
  Sha256 found;             ///< all that the device had after each launch

private:
  bool check(Code code, const char *what);
  Allocation *find(CaseRecords &records);
  void load(std::string_view text);
  bool writeText(std::string_view text) const;
  void launch(CaseRecords &records);
  void store(CaseRecords &records, bool isExpected);
  void compare();
  void compareNear(CaseRecords &records);
  void tell(const Allocation &allocation, uint32_t id,
            const std::string &found);

  const CudaDriver &driver;
  Stream *stream;
  const int capability;
  const std::string folder, texts;
  std::vector<LoadedCode *> modules;
  std::map<uint32_t, Allocation> allocations;
  bool isNear = false;                      ///< no launch leaves known bits
  uint64_t wrongLaunch = 0, farBuffers = 0; ///< with numbers that are far
  bool isBroken = false; ///< nothing that the driver says means anything now
  std::string launched;  ///< the kernel whose memory is not compared yet
};

} // namespace

bool CaseRun::check(Code code, const char *what) {
  if (code == kSuccess)
    return true;
  if (!isBroken)
    problem += (problem.empty() ? "" : "; ") + std::string(what) + ": " +
               driver.describe(code);
  isBroken = true;
  return false;
}

CaseRun::~CaseRun() {
  for (auto &[id, allocation] : allocations)
    (void)driver.free(allocation.address);
  for (LoadedCode *module : modules)
    (void)driver.unload(module);
}

Allocation *CaseRun::find(CaseRecords &records) {
  auto found = allocations.find(records.get<uint32_t>());
  if (found != allocations.end())
    return &found->second;
  records.isGood = false;
  return nullptr;
}

bool CaseRun::writeText(std::string_view text) const {
  const std::string path = texts + Sha256::hex(text).substr(0, 16) + ".ptx";
  FILE *file = fopen(path.c_str(), "wb");
  if (!file)
    return false;
  const bool isWhole = fwrite(text.data(), 1, text.size(), file) == text.size();
  return fclose(file) == 0 && isWhole;
}

void CaseRun::load(std::string_view text) {
  const std::string ended(text);
  char log[4096] = "";
  LoadOption options[] = {kErrorLog, kErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  modules.push_back(nullptr);
  const std::string_view shown = ended.c_str();
  if (!texts.empty() && !writeText(shown)) {
    problem = "its text cannot be written to " + texts;
    isBroken = true;
    return;
  }
  Result<MappedFile> assembled =
      MappedFile::open(folder + assembledCodeName(shown, capability));
  if (assembled.isOk() &&
      driver.loadCode(&modules.back(), assembled.value().data(), 0, nullptr,
                      nullptr) == kSuccess)
    return;
  if (!check(
          driver.loadCode(&modules.back(), ended.c_str(), 2, options, values),
          "the text is refused"))
    problem += std::string("\n") + log;
}

void CaseRun::store(CaseRecords &records, bool isExpected) {
  Allocation *allocation = find(records);
  const auto offset = records.get<uint64_t>();
  std::string_view data = records.take(records.get<uint64_t>());
  if (!allocation || !records.isGood || offset > allocation->expected.size() ||
      data.size() > allocation->expected.size() - offset) {
    records.isGood = false;
    return;
  }
  memcpy(allocation->expected.data() + offset, data.data(), data.size());
  if (!isExpected && check(driver.copyIn(allocation->address + offset,
                                         data.data(), data.size(), stream),
                           "a copy to the device"))
    check(driver.synchronize(stream), "a copy to the device");
}

void CaseRun::launch(CaseRecords &records) {
  const auto module = records.get<uint32_t>();
  launched = std::string(records.take(records.get<uint32_t>()));
  uint32_t sizes[6];
  for (uint32_t &size : sizes)
    size = records.get<uint32_t>();
  const auto shared = records.get<uint32_t>();
  std::vector<std::string> values(records.get<uint32_t>());
  for (std::string &value : values) {
    const auto bytes = records.get<uint32_t>();
    const auto id = records.get<uint32_t>();
    value = std::string(records.take(bytes));
    auto found = allocations.find(id);
    if (id == hone::ptx::kNoAllocation || !records.isGood)
      continue;
    if (found == allocations.end() || bytes != sizeof(Address)) {
      records.isGood = false;
      continue;
    }
    Address address;
    memcpy(&address, value.data(), sizeof(address));
    address += found->second.address;
    memcpy(value.data(), &address, sizeof(address));
  }
  if (module >= modules.size())
    records.isGood = false;
  if (!records.isGood)
    return;
  std::vector<void *> arguments;
  for (std::string &value : values)
    arguments.push_back(value.data());
  Function *function = nullptr;
  const std::string what =
      "launch " + std::to_string(launches++) + " (" + launched + ")";
  if (check(driver.function(&function, modules[module], launched.c_str()),
            what.c_str()) &&
      check(driver.setFunction(function, kMaxDynamicShared, int(shared)),
            what.c_str()) &&
      check(driver.launch(function, sizes[0], sizes[1], sizes[2], sizes[3],
                          sizes[4], sizes[5], shared, stream, arguments.data(),
                          nullptr),
            what.c_str()))
    check(driver.synchronize(stream), what.c_str());
}

/// Prints the differences, as words of 4 bytes, which most kernels write.
void CaseRun::tell(const Allocation &allocation, uint32_t id,
                   const std::string &got) {
  const std::string &expected = allocation.expected;
  uint64_t wrong = 0, first = 0;
  double worst = 0;
  for (uint64_t at = 0; at < got.size(); at += 4) {
    const size_t here = std::min<size_t>(4, got.size() - at);
    if (!memcmp(got.data() + at, expected.data() + at, here))
      continue;
    first = wrong++ ? first : at;
    float a = 0, b = 0;
    memcpy(&a, expected.data() + at, here);
    memcpy(&b, got.data() + at, here);
    const double error = std::fabs(double(a) - b) / std::fabs(double(a));
    worst = std::max(worst, std::isfinite(error) ? error : INFINITY);
  }
  uint32_t a = 0, b = 0;
  float aValue = 0, bValue = 0;
  const size_t here = std::min<size_t>(4, got.size() - first);
  memcpy(&a, expected.data() + first, here);
  memcpy(&b, got.data() + first, here);
  memcpy(&aValue, &a, 4);
  memcpy(&bValue, &b, 4);
  char text[400];
  snprintf(text, sizeof(text),
           "%slaunch %llu (%s): %llu of %llu words differ in allocation %u, "
           "the first at byte %llu: expected %08x (%.9g) but found %08x "
           "(%.9g); as float32 by %.2g of their size at most",
           problem.empty() ? "" : "; ",
           static_cast<unsigned long long>(launches - 1), launched.c_str(),
           static_cast<unsigned long long>(wrong),
           static_cast<unsigned long long>((got.size() + 3) / 4), id,
           static_cast<unsigned long long>(first), a, double(aValue), b,
           double(bValue), worst);
  problem += text;
}

/// The numbers that the last launch must have left, near a reference's.
void CaseRun::compareNear(CaseRecords &records) {
  Allocation *allocation = find(records);
  const auto offset = records.get<uint64_t>();
  const auto size = records.get<uint8_t>();
  const auto count = records.get<uint64_t>();
  if (!allocation || !records.isGood || (size != 2 && size != 4) ||
      offset > allocation->expected.size() ||
      count > (allocation->expected.size() - offset) / size) {
    records.isGood = false;
    return;
  }
  std::string got(count * size, '\0');
  if (!check(driver.copyOut(got.data(), allocation->address + offset,
                            got.size(), stream),
             "a copy from the device") ||
      !check(driver.synchronize(stream), "a copy from the device"))
    return;
  found.update(got);
  bytes += got.size();
  uint64_t wrong = 0;
  std::string first;
  for (uint64_t i = 0; i < count && records.isGood; ++i) {
    const auto near = records.get<hone::ptx::Near>();
    float number = 0;
    memcpy(reinterpret_cast<char *>(&number) + 4 - size, got.data() + i * size,
           size);
    const double apart = std::fabs(number - near.value);
    ++nearNumbers;
    // NaN is near nothing.
    if (apart > 0 && near.most > 0)
      worst = std::max(worst, apart / near.most);
    if (apart <= near.most || wrong++)
      continue;
    char text[200];
    snprintf(text, sizeof(text),
             "the first at byte %llu: expected %.9g within %.2g but found %.9g",
             static_cast<unsigned long long>(offset + i * size), near.value,
             near.most, double(number));
    first = text;
  }
  if (wrong == 0)
    return;
  // A launch may leave several buffers.
  wrongLaunches += wrongLaunch != launches;
  wrongLaunch = launches;
  if (++farBuffers > kToldLaunches)
    return;
  problem += (problem.empty() ? "" : "; ") + std::to_string(wrong) + " of " +
             std::to_string(count) +
             " numbers are not near the reference's after launch " +
             std::to_string(launches - 1) + " (" + launched + "), " + first;
}

void CaseRun::compare() {
  if (launched.empty() || isBroken || isNear)
    return;
  bool isWrong = false;
  for (auto &[id, allocation] : allocations) {
    std::string got(allocation.expected.size(), '\0');
    if (!check(
            driver.copyOut(got.data(), allocation.address, got.size(), stream),
            "a copy from the device") ||
        !check(driver.synchronize(stream), "a copy from the device"))
      return;
    found.update(got);
    bytes += got.size();
    if (got == allocation.expected)
      continue;
    if (wrongLaunches + !isWrong <= kToldLaunches)
      tell(allocation, id, got);
    isWrong = true;
    if (!check(driver.copyIn(allocation.address, allocation.expected.data(),
                             got.size(), stream),
               "a copy to the device") ||
        !check(driver.synchronize(stream), "a copy to the device"))
      return;
  }
  wrongLaunches += isWrong;
  launched.clear();
}

void CaseRun::run(std::string_view file) {
  CaseRecords records(file);
  const size_t header = strlen(hone::ptx::kCaseHeader);
  if (records.take(header) != hone::ptx::kCaseHeader) {
    problem = "this is no case, or one of another version";
    return;
  }
  while (!records.isAtEnd() && !isBroken) {
    const char kind = records.get<char>();
    if (kind != 'E')
      compare();
    if (kind == 'N') {
      isNear = true;
      continue;
    }
    switch (kind) {
    case 'M':
      if (std::string_view text = records.take(records.get<uint64_t>());
          records.isGood)
        load(text);
      break;
    case 'A': {
      Allocation &made = allocations[records.get<uint32_t>()];
      const auto size = records.get<uint64_t>();
      if (!records.isGood || size == 0 || made.address)
        records.isGood = false;
      else if (check(driver.allocate(&made.address, size), "memory") &&
               check(driver.fill(made.address, kNobody, size, stream),
                     "memory"))
        made.expected.assign(size, char(kNobody));
      break;
    }
    case 'F': {
      const auto id = records.get<uint32_t>();
      if (allocations.count(id))
        check(driver.free(allocations[id].address), "memory");
      allocations.erase(id);
      break;
    }
    case 'W':
    case 'E':
      store(records, kind == 'E');
      break;
    case 'T':
      compareNear(records);
      break;
    case 'L':
      launch(records);
      break;
    default:
      records.isGood = false;
    }
  }
  compare();
  if (!records.isGood && !isBroken)
    problem += "the file is damaged";
  else if (isNear && nearNumbers == 0 && problem.empty())
    problem = "no number says what its launches must leave";
}

//===----------------------------------------------------------------------===//
// A child for as long as its context lives
//===----------------------------------------------------------------------===//

namespace {
struct Request {
  int device = 0;
  double seconds = 1e9; ///< for all cases
  std::string results, texts;
  std::vector<std::string> cases;
};
} // namespace

static std::string folderOf(const std::string &path) {
  return path.substr(0, path.rfind('/') + 1);
}

static std::string nameOf(const std::string &path) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind(".case"));
}

static std::string describe(const std::string &path, const std::string &problem,
                            const CaseRun *run, double seconds) {
  std::string line = "{\"case\": ";
  line += jsonString(nameOf(path));
  line += problem.empty() ? ", \"passed\": true" : ", \"passed\": false";
  if (run) {
    Sha256 digest = run->found;
    line += ", \"launches\": " + std::to_string(run->launches) +
            ", \"wrong_launches\": " + std::to_string(run->wrongLaunches) +
            ", \"bytes\": " + std::to_string(run->bytes);
    char worst[40];
    snprintf(worst, sizeof(worst), ", \"worst\": %.3g", run->worst);
    if (run->nearNumbers)
      line += ", \"near_numbers\": " + std::to_string(run->nearNumbers) + worst;
    line += ", \"found\": \"" + digest.finishHex() + "\"";
  }
  char time[32];
  snprintf(time, sizeof(time), ", \"seconds\": %.3f", seconds);
  line += time;
  if (!problem.empty()) {
    line += ", \"problem\": " + jsonString(problem);
  }
  return line + "}\n";
}

/// Of a case that is not judged.
static std::string describeLate(const std::string &path,
                                const std::string &why) {
  return "{\"case\": " + jsonString(nameOf(path)) +
         ", \"skipped\": true, \"problem\": " + jsonString(why) + "}\n";
}
static constexpr const char *kNoTime = "there was no time left for it";

/// Runs the cases from `first` on; a line for each to `out`. Ends the process.
[[noreturn]] static void runCases(const Request &request, size_t first,
                                  int out) {
  Result<CudaDriver> driver = CudaDriver::load();
  DeviceNumber device = 0;
  Context *context = nullptr;
  Stream *stream = nullptr;
  int major = 0, minor = 0;
  if (!driver.isOk())
    _exit(3);
  const CudaDriver &cuda = driver.value();
  if (cuda.device(&device, request.device) != kSuccess ||
      cuda.deviceAttribute(&major, kCapabilityMajor, device) != kSuccess ||
      cuda.deviceAttribute(&minor, kCapabilityMinor, device) != kSuccess ||
      cuda.retainContext(&context, device) != kSuccess ||
      cuda.setContext(context) != kSuccess ||
      cuda.createStream(&stream, kNonBlocking) != kSuccess)
    _exit(3);
  for (size_t i = first; i < request.cases.size(); ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::string problem, line;
    Result<MappedFile> file = MappedFile::open(request.cases[i]);
    CaseRun run(cuda, stream, 10 * major + minor, folderOf(request.cases[i]),
                request.texts);
    if (file.isOk())
      run.run(file.value().bytes());
    else
      run.problem = file.status().message().problem;
    const std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    line = describe(request.cases[i], run.problem, &run, taken.count());
    if (write(out, line.data(), line.size()) != ssize_t(line.size()))
      _exit(4);
    // A context that has failed once fails for ever.
    if (cuda.synchronize(stream) != kSuccess)
      _exit(0);
  }
  _exit(0);
}

int main(int argc, char **argv) {
  Request request;
  int at = 1;
  for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
    const std::string option = argv[at];
    if (option == "--texts") {
      request.texts = std::string(argv[at + 1]) + "/";
      continue;
    }
    char *end = nullptr;
    const double value = strtod(argv[at + 1], &end);
    if (*end || !*argv[at + 1] || value < 0 ||
        (option != "--device" && option != "--seconds"))
      break;
    (option == "--device" ? (void)(request.device = int(value))
                          : (void)(request.seconds = value));
  }
  if (argc - at < 2 || !strncmp(argv[at], "--", 2)) {
    fprintf(stderr, "usage: gpu-cases [--device N] [--seconds N] "
                    "[--texts FOLDER] RESULTS.jsonl CASE...\n");
    return 2;
  }
  request.results = argv[at++];
  request.cases.assign(argv + at, argv + argc);

  // The driver is asked in a child: it does not survive a fork.
  FILE *results = fopen(request.results.c_str(), "a");
  if (!results) {
    perror(request.results.c_str());
    return 4;
  }
  const auto start = std::chrono::steady_clock::now();
  size_t done = 0, passed = 0;
  auto note = [&](const std::string &line) {
    fputs(line.c_str(), results);
    fflush(results);
    if (line.find("\"passed\": true") != std::string::npos)
      ++passed;
    else
      printf("%s", line.c_str());
    fflush(stdout);
    ++done;
  };
  while (done < request.cases.size()) {
    int pipes[2];
    if (pipe(pipes))
      return 4;
    const pid_t child = fork();
    if (child < 0)
      return 4;
    if (child == 0) {
      close(pipes[0]);
      runCases(request, done, pipes[1]);
    }
    close(pipes[1]);
    std::string text;
    const size_t before = done;
    std::string why = "its process ended";
    bool isStopped = false;
    for (;;) {
      const std::chrono::duration<double> used =
          std::chrono::steady_clock::now() - start;
      const double left = request.seconds - used.count();
      pollfd waits = {pipes[0], POLLIN, 0};
      const int ready =
          left <= 0 ? 0
                    : poll(&waits, 1,
                           int(std::min<double>(kCaseSeconds, left) * 1000));
      if (ready <= 0) {
        isStopped = left <= kCaseSeconds;
        why = !isStopped ? "it did not end within a minute"
                         : "it did not end in the time that was left";
        break;
      }
      char buffer[4096];
      const ssize_t count = read(pipes[0], buffer, sizeof(buffer));
      if (count <= 0)
        break;
      text.append(buffer, size_t(count));
      for (size_t end; (end = text.find('\n')) != std::string::npos;
           text.erase(0, end + 1))
        note(text.substr(0, end + 1));
    }
    kill(child, SIGKILL);
    close(pipes[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
      Result<CudaDriver> driver = CudaDriver::load();
      fprintf(stderr, "%s",
              driver.isOk() ? "gpu-cases: there is no such device, or it is "
                              "busy\n"
                            : driver.status().render().c_str());
      return 3;
    }
    // The first of them had begun.
    while (isStopped && done < request.cases.size()) {
      note(describeLate(request.cases[done], why));
      why = kNoTime;
    }
    // A context that is spent ends after its case's line: go on with the next.
    if (done < request.cases.size() && done == before)
      note(describe(request.cases[done], why, nullptr, 0));
  }
  printf("%zu of %zu cases passed\n", passed, request.cases.size());
  return fclose(results) == 0 ? passed != request.cases.size() : 4;
}
