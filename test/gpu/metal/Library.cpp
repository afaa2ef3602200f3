//===- Library.cpp - Metal's text, compiled for this machine --------------===//

#include "Library.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

namespace hone::metal {

/// Bytes after shared memory that nobody may write.
static constexpr uint32_t CanaryBytes = 64;
static constexpr unsigned char Canary = 0xa5, Unwritten = 0xff;

static Workgroup *running = nullptr;

/// As metal::HostMachine in host/metal_stdlib.
struct HostMachine {
  void (*waitForAll)();
  void (*waitForSubgroup)();
  uint32_t (*exchange)(uint32_t value, uint32_t lane);
  uint32_t (*lane)();
};

/// The kernels that the text declares.
static std::map<std::string, Kernel> kernelsOf(std::string_view text) {
  std::map<std::string, Kernel> kernels;
  for (size_t at = 0; (at = text.find("[[kernel", at)) != text.npos;) {
    at = text.find("void", at) + strlen("void");
    const size_t open = text.find('(', at), end = text.find(") {", open);
    if (open == text.npos || end == text.npos)
      break;
    Kernel kernel;
    for (char c : text.substr(at, open - at))
      if (!isspace(static_cast<unsigned char>(c)))
        kernel.name += c;
    const std::string_view parameters = text.substr(open, end - open);
    kernel.hasClosure = parameters.find("&closure") != parameters.npos;
    kernel.hasShared = parameters.find("*shared_memory") != parameters.npos;
    kernels[kernel.name] = kernel;
    at = end;
  }
  return kernels;
}

/// C++ has no attributes of Metal's, and [[threadgroup(0)]] would be none once
/// threadgroup is a word for nothing.
static std::string withoutAttributes(std::string_view text) {
  std::string plain;
  while (true) {
    const size_t open = text.find("[[");
    plain += text.substr(0, open);
    if (open == text.npos)
      return plain;
    const size_t close = text.find("]]", open);
    text.remove_prefix(close == text.npos ? text.size() : close + 2);
  }
}

static std::string wrapperOf(const Kernel &kernel) {
  std::string text = "extern \"C\" void run_" + kernel.name +
                     "(const void *closure, uchar *shared, uint thread, uint "
                     "group) {\n  " +
                     kernel.name + "(";
  if (kernel.hasClosure)
    text += "*(const " + kernel.name + "_closure *)closure, ";
  text += std::string(kernel.hasShared ? "shared, " : "") +
          "thread, group);\n}\nextern \"C\" const uint bytes_" + kernel.name +
          " = ";
  return text +
         (kernel.hasClosure ? "sizeof(" + kernel.name + "_closure)" : "0") +
         ";\n";
}

/// The output of `command`; whether it succeeded.
static bool runCommand(const std::string &command, std::string &output) {
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe)
    return false;
  char part[4096];
  while (size_t bytes = fread(part, 1, sizeof(part), pipe))
    output.append(part, bytes);
  return pclose(pipe) == 0;
}

std::shared_ptr<Library> Library::compile(std::string_view text,
                                          std::string &log) {
  static std::map<std::string, std::shared_ptr<Library>, std::less<>> known;
  if (auto found = known.find(text); found != known.end())
    return found->second;
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "hone-metal-XXXXXX");
  if (!mkdtemp(pattern.data())) {
    log = "no temporary folder";
    return nullptr;
  }
  const fs::path folder = pattern;
  auto library = std::make_shared<Library>();
  library->kernels = kernelsOf(text);
  {
    std::ofstream source(folder / "text.cpp");
    source << "#line 1 \"program.metal\"\n" << withoutAttributes(text);
    for (const auto &[name, kernel] : library->kernels)
      source << wrapperOf(kernel);
  }
  const std::string object = folder / "text.so";
  const bool isCompiled = runCommand(
      HONE_METAL_COMPILER " -x c++ -std=c++17 -O0 -ffp-contract=off "
                          "-fno-math-errno -fPIC "
                          "-shared " HONE_METAL_FLAGS
                          " -Wno-unknown-pragmas -I'" HONE_METAL_HEADERS "' '" +
          (folder / "text.cpp").string() + "' -o '" + object + "'",
      log);
  if (isCompiled)
    library->handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (isCompiled && !library->handle)
    log += dlerror();
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!library->handle)
    return nullptr;
  auto *machine =
      static_cast<HostMachine *>(dlsym(library->handle, "hone_metal_machine"));
  machine->waitForAll = [] { running->waitForAll(); };
  machine->waitForSubgroup = [] { running->waitForSubgroup(); };
  machine->exchange = [](uint32_t value, uint32_t lane) {
    return running->exchange(value, lane);
  };
  machine->lane = [] { return running->lane(); };
  for (auto &[name, kernel] : library->kernels) {
    kernel.run = reinterpret_cast<decltype(kernel.run)>(
        dlsym(library->handle, ("run_" + name).c_str()));
    kernel.closureBytes = *static_cast<const uint32_t *>(
        dlsym(library->handle, ("bytes_" + name).c_str()));
  }
  known.emplace(text, library);
  return library;
}

Library::~Library() {
  if (handle)
    dlclose(handle);
}

const Kernel *Library::find(const std::string &name) const {
  auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second;
}

std::string Library::launch(const Kernel &kernel, uint32_t groups,
                            uint32_t threads, const void *closure,
                            uint32_t sharedBytes, Order order) {
  // One after another, so the threads' stacks serve all.
  static thread_local std::map<uint32_t, std::unique_ptr<Workgroup>> workgroups;
  std::unique_ptr<Workgroup> &workgroup = workgroups[threads];
  if (!workgroup)
    workgroup = std::make_unique<Workgroup>(threads);
  if (kernel.hasShared != (sharedBytes > 0))
    return kernel.name + ": shared memory is given and not asked for, or asked "
                         "for and not given";
  // As the text's 16-byte alignment asks.
  std::vector<long double> storage((sharedBytes + CanaryBytes) / 16 + 1);
  auto *shared = reinterpret_cast<unsigned char *>(storage.data());
  for (uint32_t i = 0; i < groups; ++i) {
    const uint32_t group = order == Order::Descending ? groups - 1 - i : i;
    memset(shared, Unwritten, sharedBytes);
    memset(shared + sharedBytes, Canary, CanaryBytes);
    running = workgroup.get();
    const std::string fault = workgroup->run(
        [&](uint32_t thread) { kernel.run(closure, shared, thread, group); },
        order);
    if (!fault.empty())
      return kernel.name + ", workgroup " + std::to_string(group) + ": " +
             fault;
    for (uint32_t j = 0; j < CanaryBytes; ++j)
      if (shared[sharedBytes + j] != Canary)
        return kernel.name + ", workgroup " + std::to_string(group) +
               ": writes after its shared memory";
  }
  return "";
}

} // namespace hone::metal
