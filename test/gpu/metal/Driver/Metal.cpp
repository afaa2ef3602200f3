//===- Metal.cpp - Metal's classes on the machine of fibres ---------------===//
//
// Command buffers run when somebody asks how far they are, so a program that
// reads or reuses memory too early is given away. Device memory has two
// mappings: the host's, and the device's, which opens only while a kernel runs
// that was said to use it.
//
//===----------------------------------------------------------------------===//

#include "../Library.h"
#include "Objects.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <sys/mman.h>
#include <unistd.h>

using namespace hone::metal;

namespace {

/// Each from HONE_METAL_<NAME>; the README beside has them all.
struct Settings {
  static uint64_t number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    if (!text)
      return otherwise;
    char *end = nullptr;
    const uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end) {
      fprintf(stderr, "%s cannot be '%s'\n", name, text);
      exit(2);
    }
    return value;
  }
  static Order orderOf(uint64_t number) {
    if (number <= 2)
      return number == 0   ? Order::Ascending
             : number == 1 ? Order::Descending
                           : Order::Random;
    fprintf(stderr, "HONE_METAL_ORDER cannot be %llu\n",
            (unsigned long long)number);
    exit(2);
  }
  uint64_t devices = number("HONE_METAL_DEVICES", 1);
  uint64_t memory = number("HONE_METAL_MEMORY", 16ull << 30);
  uint64_t mostBuffer = number("HONE_METAL_MOST_BUFFER", 8ull << 30);
  bool isMetal3 = number("HONE_METAL_FAMILY", 3) >= 3;
  bool hasMathMode = number("HONE_METAL_LANGUAGE", 32) >= 32;
  uint64_t lanes = number("HONE_METAL_LANES", 32);
  uint64_t threads = number("HONE_METAL_THREADS", 1024);
  uint64_t refusedAllocation = number("HONE_METAL_REFUSE_ALLOCATION", 0);
  uint64_t refusedCommands = number("HONE_METAL_REFUSE_COMMANDS", 0);
  uint64_t lostLaunch = number("HONE_METAL_LOSE_AT_LAUNCH", 0);
  uint64_t stuckLaunch = number("HONE_METAL_STICK_AT_LAUNCH", 0);
  Order order = orderOf(number("HONE_METAL_ORDER", 0));
};

const Settings settings;
uint64_t allocations = 0, allocated = 0, launches = 0, barriers = 0;
uint64_t commandBuffers = 0;
constexpr uint64_t kMostShared = 32 * 1024;

struct Error : Object {
  explicit Error(std::string words)
      : Object("Error"), words(std::move(words)) {}
  const std::string words;
};

struct Device : Object {
  explicit Device(uint64_t number)
      : Object("Device"), name("fibres " + std::to_string(number)) {}
  const std::string name;
};

struct Array : Object {
  Array() : Object("Array") {}
  ~Array() override {
    for (Object *each : objects)
      release(each);
  }
  std::vector<Object *> objects;
};

struct Options : Object {
  Options() : Object("Options") {}
  bool isSafe = false;
  unsigned long language = 0;
};

struct Buffer : Object {
  explicit Buffer(uint64_t size) : Object("Buffer"), bytes(size) {
    const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    mapped = (bytes + page - 1) / page * page;
    const int file = memfd_create("metal", 0);
    if (file < 0 || ftruncate(file, off_t(mapped)))
      misuse("no memory of a file");
    host = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    device = mmap(nullptr, mapped, PROT_NONE, MAP_SHARED, file, 0);
    close(file);
    if (host == MAP_FAILED || device == MAP_FAILED)
      misuse("no address range");
    // Unwritten memory is NaN.
    memset(host, 0xff, bytes);
    allocated += bytes;
  }
  ~Buffer() override {
    munmap(host, mapped);
    munmap(device, mapped);
    allocated -= bytes;
  }
  void open(bool isOpen) {
    mprotect(device, mapped, isOpen ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  uint64_t bytes, mapped;
  void *host, *device;
};

struct Program : Object {
  Program() : Object("Library") {}
  std::shared_ptr<Library> library;
};

struct Function : Object {
  Function(Program *program, const Kernel *kernel)
      : Object("Function"), program(program), kernel(kernel) {
    retain(program);
  }
  ~Function() override { release(program); }
  Program *const program;
  const Kernel *const kernel;
};

struct Pipeline : Object {
  explicit Pipeline(Function *function)
      : Object("Pipeline"), function(function) {
    retain(function);
  }
  ~Pipeline() override { release(function); }
  Function *const function;
};

struct Commands : Object {
  Commands() : Object("Commands") {}
  ~Commands() override {
    if (error)
      release(error);
  }
  enum Status : unsigned long { New = 0, Committed = 2, Completed = 4, Failed };

  unsigned long status = New;
  bool isEncoding = false;
  std::vector<std::function<std::string()>> work;
  Error *error = nullptr;
};

struct Encoder : Object {
  explicit Encoder(Commands *commands) : Object("Encoder"), commands(commands) {
    retain(commands);
  }
  ~Encoder() override {
    if (isOpen)
      misuse("an encoder is gone before it has ended");
    release(commands);
    if (pipeline)
      release(pipeline);
  }
  Commands *const commands;
  bool isOpen = true, isOrdered = true;
  Pipeline *pipeline = nullptr;
  std::vector<char> closure;
  uint64_t shared = 0;
  std::vector<Buffer *> buffers; ///< the program's, which must not free them
};

struct Queue : Object {
  Queue() : Object("Queue") {}
};

std::deque<Commands *> committed;
bool isStuck = false;

void failWith(Object **error, const std::string &words) {
  if (error)
    *error = autorelease(new Error(words));
}

/// All that is committed happens, in its order, until it is stuck.
void flush() {
  while (!committed.empty() && !isStuck) {
    Commands *commands = committed.front();
    std::string fault;
    for (const auto &each : commands->work)
      if (fault.empty() && !isStuck)
        fault = each();
    if (isStuck)
      return;
    committed.pop_front();
    commands->work.clear();
    commands->status = fault.empty() ? Commands::Completed : Commands::Failed;
    if (!fault.empty())
      commands->error = new Error(fault);
    release(commands);
  }
}

struct Size {
  unsigned long width, height, depth;
};

void dispatch(Encoder *self, Selector *, Size groups, Size threads) {
  if (!self->isOpen || !self->pipeline)
    misuse("a launch without an encoder or a pipeline");
  if (!self->isOrdered)
    misuse("a launch that is not ordered after the one before");
  self->isOrdered = false;
  const Kernel &kernel = *self->pipeline->function->kernel;
  if (groups.width == 0 || groups.height != 1 || groups.depth != 1 ||
      threads.width > settings.threads)
    misuse(kernel.name + " is launched with sizes that are none");
  if (self->closure.size() < kernel.closureBytes)
    misuse(kernel.name + " has " + std::to_string(kernel.closureBytes) +
           " bytes of parameters and is given " +
           std::to_string(self->closure.size()));
  Pipeline *pipeline = self->pipeline;
  retain(pipeline);
  self->commands->work.push_back(
      [=, buffers = self->buffers, closure = self->closure,
       shared =
           uint32_t(kernel.hasShared ? self->shared : 0)]() -> std::string {
        const uint64_t number = ++launches;
        isStuck = number == settings.stuckLaunch;
        if (isStuck)
          return "";
        if (number == settings.lostLaunch)
          return "Caused GPU Timeout Error (00000002:"
                 "kIOGPUCommandBufferCallbackErrorTimeout)";
        for (Buffer *buffer : buffers)
          buffer->open(true);
        const std::string fault = pipeline->function->program->library->launch(
            *pipeline->function->kernel, uint32_t(groups.width),
            uint32_t(threads.width), closure.data(), shared, settings.order);
        for (Buffer *buffer : buffers)
          buffer->open(false);
        release(pipeline);
        return fault;
      });
}

/// Before main: a program asks an object first whether it knows a method.
struct Methods {
  Methods();
} methods;

} // namespace

Methods::Methods() {
  define(
      "Class", "alloc", +[](Class *self, Selector *) -> Object * {
        if (self->name != "MTLCompileOptions")
          misuse("nobody allocates a " + self->name);
        return new Options;
      });
  define(
      "Error", "localizedDescription", +[](Error *self, Selector *) {
        return autorelease(new String(self->words));
      });
  define(
      "Array", "count", +[](Array *self, Selector *) {
        return static_cast<unsigned long>(self->objects.size());
      });
  define(
      "Array", "objectAtIndex:", +[](Array *self, Selector *, unsigned long i) {
        return self->objects.at(i);
      });

  if (settings.hasMathMode)
    define(
        "Options", "setMathMode:", +[](Options *self, Selector *, long mode) {
          self->isSafe = mode == 0;
        });
  define(
      "Options", "setLanguageVersion:",
      +[](Options *self, Selector *, unsigned long version) {
        self->language = version;
      });

  define(
      "Device", "name", +[](Device *self, Selector *) {
        return autorelease(new String(self->name));
      });
  define(
      "Device", "supportsFamily:", +[](Device *, Selector *, long family) {
        return static_cast<signed char>(family == 5001 && settings.isMetal3);
      });
  define(
      "Device", "recommendedMaxWorkingSetSize",
      +[](Device *, Selector *) { return settings.memory; });
  define(
      "Device", "currentAllocatedSize",
      +[](Device *, Selector *) { return allocated; });
  define(
      "Device", "maxBufferLength",
      +[](Device *, Selector *) { return settings.mostBuffer; });
  define(
      "Device", "newCommandQueue",
      +[](Device *, Selector *) { return new Queue; });
  define(
      "Device", "newBufferWithLength:options:",
      +[](Device *, Selector *, unsigned long bytes,
          unsigned long options) -> Buffer * {
        if (bytes == 0 || options != 0)
          misuse("a buffer of no bytes, or one that is not shared");
        if (++allocations == settings.refusedAllocation ||
            bytes > settings.mostBuffer)
          return nullptr;
        return new Buffer(bytes);
      });
  define(
      "Device", "newLibraryWithSource:options:error:",
      +[](Device *, Selector *, String *text, Options *options,
          Object **error) -> Program * {
        if (!options->isSafe || options->language < (3 << 16) + 2)
          misuse("the text needs Metal 3.2 and safe arithmetic");
        auto *program = new Program;
        std::string log;
        program->library = Library::compile(text->text, log);
        if (program->library)
          return program;
        release(program);
        failWith(error, log);
        return nullptr;
      });
  define(
      "Library", "newFunctionWithName:",
      +[](Program *self, Selector *, String *name) -> Function * {
        const Kernel *kernel = self->library->find(name->text);
        return kernel ? new Function(self, kernel) : nullptr;
      });
  define(
      "Device", "newComputePipelineStateWithFunction:error:",
      +[](Device *, Selector *, Function *function, Object **) {
        return new Pipeline(function);
      });
  define(
      "Pipeline", "maxTotalThreadsPerThreadgroup",
      +[](Pipeline *, Selector *) { return settings.threads; });
  define(
      "Pipeline", "threadExecutionWidth",
      +[](Pipeline *, Selector *) { return settings.lanes; });

  define(
      "Buffer", "gpuAddress", +[](Buffer *self, Selector *) {
        return reinterpret_cast<uint64_t>(self->device);
      });
  define(
      "Buffer", "contents",
      +[](Buffer *self, Selector *) { return self->host; });

  define(
      "Queue", "commandBuffer", +[](Queue *, Selector *) -> Commands * {
        if (++commandBuffers == settings.refusedCommands)
          return nullptr;
        return autorelease(new Commands);
      });
  define(
      "Commands", "computeCommandEncoder", +[](Commands *self, Selector *) {
        if (self->isEncoding || self->status != Commands::New)
          misuse("an encoder of commands that have one, or are committed");
        self->isEncoding = true;
        return autorelease(new Encoder(self));
      });
  define(
      "Commands", "commit", +[](Commands *self, Selector *) {
        if (self->isEncoding || self->status != Commands::New)
          misuse("commands are committed twice, or while they are encoded");
        self->status = Commands::Committed;
        retain(self);
        committed.push_back(self);
      });
  define(
      "Commands", "status", +[](Commands *self, Selector *) {
        flush();
        return self->status;
      });
  define(
      "Commands", "error",
      +[](Commands *self, Selector *) { return self->error; });
  define(
      "Commands", "GPUStartTime", +[](Commands *, Selector *) { return 1.0; });
  define("Commands", "GPUEndTime", +[](Commands *, Selector *) { return 1.5; });

  define(
      "Encoder", "setComputePipelineState:",
      +[](Encoder *self, Selector *, Pipeline *pipeline) {
        retain(pipeline);
        if (self->pipeline)
          release(self->pipeline);
        self->pipeline = pipeline;
      });
  define(
      "Encoder", "setBytes:length:atIndex:",
      +[](Encoder *self, Selector *, const void *bytes, unsigned long length,
          unsigned long index) {
        if (length == 0 || length > 4096 || index != 0)
          misuse("parameters of " + std::to_string(length) + " bytes");
        const auto *from = static_cast<const char *>(bytes);
        self->closure.assign(from, from + length);
      });
  define(
      "Encoder", "setThreadgroupMemoryLength:atIndex:",
      +[](Encoder *self, Selector *, unsigned long length,
          unsigned long index) {
        if (length % 16 != 0 || length > kMostShared || index != 0)
          misuse("shared memory of " + std::to_string(length) + " bytes");
        self->shared = length;
      });
  define(
      "Encoder", "useResource:usage:",
      +[](Encoder *self, Selector *, Buffer *buffer, unsigned long usage) {
        if (usage != 3)
          misuse("a buffer that is not said to be read and written");
        self->buffers.push_back(buffer);
      });
  define("Encoder", "dispatchThreadgroups:threadsPerThreadgroup:", dispatch);
  define(
      "Encoder", "memoryBarrierWithScope:",
      +[](Encoder *self, Selector *, unsigned long scope) {
        ++barriers;
        self->isOrdered |= scope == 1;
      });
  define(
      "Encoder", "endEncoding", +[](Encoder *self, Selector *) {
        self->isOpen = self->commands->isEncoding = false;
      });

  atexit([] {
    const char *path = getenv("HONE_METAL_REPORT");
    FILE *file = path ? fopen(path, "w") : nullptr;
    if (!file)
      return;
    fprintf(file, "launches: %llu\nallocations: %llu\n%s",
            (unsigned long long)launches, (unsigned long long)allocations,
            livingObjects().c_str());
    fclose(file);
  });
}

extern "C" Object *MTLCopyAllDevices() {
  static std::vector<Device *> devices;
  while (devices.size() < settings.devices)
    devices.push_back(new Device(devices.size()));
  auto *all = new Array;
  for (Device *device : devices) {
    retain(device);
    all->objects.push_back(device);
  }
  return all;
}
