//===- RunTogether.cpp - Compiled modules that train as one ---------------===//
//
// run-together DEVICE STEPS SEED [restart=NAME:STEP] [end=NAME:STEP]
//              [timeout=MS] (NAME MODULE.so WEIGHTS DATA)...
//
// run-together DEVICE STEPS SEED engine=LIBRARY address=ADDRESS peers=A,B
//              NAME MODULE.so WEIGHTS DATA
//
// Each module has weights, arena, plan and a thread of its own. After STEPS
// updates, prints of each program the losses of all steps and of an evaluation,
// and of each trained tensor its digest: with the bits of doubles. One program
// may begin anew after STEP updates, with nothing but a checkpoint's contents,
// or end there. A program that then waits for longer than the timeout prints
// why it stopped, and has the tensors of its last whole step. Prints also the
// bytes that each sent while it trained, and the rows of the batches that it
// loaded.
//
//===----------------------------------------------------------------------===//

#include "../device/CompiledProgram.h"
#include "DelayedTransport.h"
#include "base/Sha256.h"
#include "exchange/Session.h"

#include <cinttypes>
#include <map>
#include <thread>

using namespace hone;
using namespace hone::rt;

namespace {

/// To each peer by its session.
class SessionTransport final : public Transport {
public:
  void add(const std::string &peer, std::unique_ptr<Session> session) {
    sessions[peer] = std::move(session);
  }
  Status postSend(const Message &message, const char *bytes,
                  uint64_t size) override {
    return of(message).postSend(message, bytes, size);
  }
  Status postReceive(const Message &message, char *bytes,
                     uint64_t size) override {
    return of(message).postReceive(message, bytes, size);
  }
  Status wait(const Message &message) override {
    return of(message).wait(message);
  }
  void cancel(const Message &message) override { of(message).cancel(message); }

private:
  Session &of(const Message &message) { return *sessions.at(message.peer); }
  std::map<std::string, std::unique_ptr<Session>> sessions;
};

/// The event of one program after some updates.
struct Event {
  std::string name;
  uint64_t step = ~uint64_t(0);

  bool isFor(const std::string &program, uint64_t completed) const {
    return program == name && completed == step;
  }
};

struct Plan {
  std::string device, engine, address, peers;
  uint64_t steps = 0;
  Event restart, end;
  std::chrono::milliseconds timeout{60000};
};

/// Counts the sent bytes.
class CountingTransport final : public Transport {
public:
  explicit CountingTransport(std::unique_ptr<Transport> below)
      : below(std::move(below)) {}
  Status postSend(const Message &m, const char *bytes, uint64_t size) override {
    sent += size;
    return below->postSend(m, bytes, size);
  }
  Status postReceive(const Message &m, char *bytes, uint64_t size) override {
    return below->postReceive(m, bytes, size);
  }
  Status wait(const Message &m) override { return below->wait(m); }
  void cancel(const Message &m) override { below->cancel(m); }

  uint64_t sent = 0;

private:
  std::unique_ptr<Transport> below;
};

class Program {
public:
  Program(const Plan &plan, char **arguments, std::unique_ptr<Transport> below)
      : plan(plan), name(arguments[0]), files(arguments + 1),
        transport(std::move(below)) {
    open();
  }

  void train() {
    for (uint64_t step = 0; step < plan.steps; ++step) {
      if (plan.end.isFor(name, step))
        return;
      if (plan.restart.isFor(name, step))
        restart();
      Trainer::StepResult result;
      failure = program->tryStep(step, plan.steps, result);
      if (!failure.isOk())
        return;
      losses.push_back(result.loss);
      losses.push_back(result.gradientNorm);
      rows += result.tokens;
    }
    sent = transport.sent;
    losses.push_back(program->evaluate(plan.steps));
    // One by one, as candidates of a task are.
    for (uint64_t sample = 0; sample < 3; ++sample)
      losses.push_back(
          test::require(program->trainer->lossOf(program->data, sample)));
  }

  /// Whether all went as it should, which it does where a peer has ended.
  bool hasSucceeded() const {
    return failure.isOk() || failure.errorCode() == ErrorCode::PeerLost;
  }

  void print() {
    if (!failure.isOk()) {
      printf("%s stopped %s\n", name.c_str(), textOf(*failure.errorCode()));
      fputs(failure.render().c_str(), stderr);
    }
    for (double loss : losses)
      printf("%s number %a\n", name.c_str(), loss);
    printf("%s sent %" PRIu64 " bytes for %" PRIu64 " rows\n", name.c_str(),
           sent, rows);
    const hone_module &m = program->module.abi();
    MemoryView theta =
        program->trainer->trainables().checkpointTargets()[0].data;
    uint64_t element = dtypeBytes(program->module.trainableDtype());
    for (uint32_t i = 0; i < m.trainable_count; ++i) {
      const hone_trainable &t = m.trainables[i];
      Sha256 hash;
      auto update = [&](const char *bytes, uint64_t size) {
        hash.update(bytes, size);
        return Status::ok();
      };
      test::require(
          (theta + t.offset * element)
              .read(program->module.trainableShapeElements(t) * element,
                    update));
      printf("%s tensor %s %s\n", name.c_str(), t.name,
             hash.finishHex().c_str());
    }
  }

private:
  void open() {
    program = std::make_unique<test::CompiledProgram>(
        plan.device, files[0], files[1], files[2], /*threads=*/1, &transport);
  }

  /// With a checkpoint's contents, and nothing else of before.
  void restart() {
    std::vector<std::string> saved;
    for (const CheckpointTarget &target : targets()) {
      std::string &bytes = saved.emplace_back();
      test::require(target.data.read(sizeOf(target),
                                     [&](const char *part, uint64_t size) {
                                       bytes.append(part, size);
                                       return Status::ok();
                                     }));
    }
    open();
    size_t next = 0;
    for (const CheckpointTarget &target : targets()) {
      const char *from = saved[next++].data();
      target.data.write(sizeOf(target), [&](char *part, uint64_t size) {
        memcpy(part, from, size);
        from += size;
      });
    }
  }
  static uint64_t sizeOf(const CheckpointTarget &target) {
    return target.elements * dtypeBytes(target.dtype);
  }
  std::vector<CheckpointTarget> targets() {
    return program->trainer->trainables().checkpointTargets();
  }

  const Plan &plan;
  std::string name;
  char **files; ///< module, weights, data
  CountingTransport transport;
  std::unique_ptr<test::CompiledProgram> program;
  std::vector<double> losses;
  uint64_t rows = 0, sent = 0; ///< of training
  Status failure = Status::ok();
};

} // namespace

/// "lower:2"
static bool readEvent(const char *argument, const char *kind, Event &event) {
  const std::string prefix = std::string(kind) + "=";
  if (strncmp(argument, prefix.c_str(), prefix.size()) != 0)
    return false;
  const std::string text = argument + prefix.size();
  const size_t colon = text.find(':');
  event.name = text.substr(0, colon);
  event.step = strtoull(text.c_str() + colon + 1, nullptr, 10);
  return true;
}

static bool readText(const char *argument, const char *kind,
                     std::string &text) {
  const std::string prefix = std::string(kind) + "=";
  if (strncmp(argument, prefix.c_str(), prefix.size()) != 0)
    return false;
  text = argument + prefix.size();
  return true;
}

/// Sessions of `name` with its peers, by the engine of a library.
static std::unique_ptr<Transport> connect(const Plan &plan,
                                          const std::string &name) {
  void *library = dlopen(plan.engine.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto *find = library ? reinterpret_cast<const hone_engine *(*)()>(
                             dlsym(library, "hone_exchange_engine"))
                       : nullptr;
  if (!find) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  auto transport = std::make_unique<SessionTransport>();
  for (size_t begin = 0; begin < plan.peers.size();) {
    const size_t end = std::min(plan.peers.find(',', begin), plan.peers.size());
    const std::string peer = plan.peers.substr(begin, end - begin);
    transport->add(peer, test::require(Session::open(
                             {find(),
                              plan.address,
                              name,
                              peer,
                              /*run=*/1,
                              std::make_shared<const std::string>(
                                  "steps=" + std::to_string(plan.steps) + "\n"),
                              {plan.timeout}})));
    begin = end + 1;
  }
  return transport;
}

int main(int argc, char **argv) {
  Plan plan;
  int first = 4;
  for (; first < argc && strchr(argv[first], '='); ++first) {
    const char *argument = argv[first];
    if (strncmp(argument, "timeout=", 8) == 0)
      plan.timeout =
          std::chrono::milliseconds(strtoull(argument + 8, nullptr, 10));
    else if (!readEvent(argument, "restart", plan.restart) &&
             !readEvent(argument, "end", plan.end) &&
             !readText(argument, "engine", plan.engine) &&
             !readText(argument, "address", plan.address) &&
             !readText(argument, "peers", plan.peers))
      return 2;
  }
  if (argc < first + 4 || (argc - first) % 4 != 0) {
    fputs("usage: run-together DEVICE STEPS SEED [restart=NAME:STEP] "
          "[end=NAME:STEP] [timeout=MS] (NAME MODULE.so WEIGHTS DATA)...\n",
          stderr);
    return 2;
  }
  plan.device = argv[1];
  plan.steps = strtoull(argv[2], nullptr, 10);
  test::Network network(strtoull(argv[3], nullptr, 10), {plan.timeout});
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = first; i < argc; i += 4)
    programs.push_back(std::make_unique<Program>(
        plan, argv + i,
        plan.engine.empty()
            ? std::make_unique<test::DelayedTransport>(network, argv[i])
            : connect(plan, argv[i])));
  std::vector<std::thread> threads;
  for (auto &program : programs)
    threads.emplace_back([&] { program->train(); });
  for (std::thread &thread : threads)
    thread.join();
  bool hasSucceeded = true;
  for (auto &program : programs) {
    program->print();
    hasSucceeded &= program->hasSucceeded();
  }
  if (!hasSucceeded)
    return 1;
  if (size_t open = network.open()) {
    fprintf(stderr, "%zu messages are still posted\n", open);
    return 1;
  }
}
