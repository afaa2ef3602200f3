//===- hone-simulate.cpp - How long a run of several programs will take ---===//
//
// The spec's programs are compiled into this process and run in virtual time.
// Options become a SimulationRequest; there is no other logic here.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/CommandLine.h"
#include "compiler/driver/Compile.h"
#include "compiler/driver/SpecOptions.h"
#include "compiler/simulate/KernelTimes.h"
#include "compiler/simulate/Prediction.h"
#include "compiler/simulate/Quantity.h"

#include "base/OutputFile.h"
#include "step/Ranks.h"

#include "grpc/Memory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <optional>

using namespace hone;
using namespace hone::simulate;
namespace cl = llvm::cl;

namespace {

/// Steps that a drawing has at most.
constexpr uint64_t kDrawnSteps = 4;
constexpr unsigned kMostPrograms = 64;
/// Of ranks; other programs have more.
constexpr uint64_t kDefaultSteps = 8;
/// And the least is 1 over it: with it, times stay finite and finer than a
/// launch.
constexpr double kMostSpeed = 1e6;

struct Options {
  cl::OptionCategory category{"hone-simulate options"};
  cl::opt<std::string> spec{cl::Positional, cl::Required, cl::desc("SPEC.yaml"),
                            cl::cat(category)};
  SpecOptions onSpec{category};
  cl::opt<std::string> rate{
      "rate", cl::value_desc("100Mbit/s"), cl::cat(category),
      cl::desc("of each program's way out and way in; default: without bound")};
  cl::opt<std::string> latency{"latency", cl::value_desc("10ms"),
                               cl::cat(category),
                               cl::desc("one way; default: none")};
  cl::opt<uint64_t> window{
      "window", cl::init(grpc_engine::kWindow), cl::value_desc("bytes"),
      cl::cat(category),
      cl::desc(
          "bytes of a frame that leave before the receiver has said that it "
          "reads them; default: 30720 (gRPC), 65536 with --ranks (MPI); 0: "
          "all")};
  cl::list<std::string> profile{
      "profile", cl::value_desc("[program=]file"), cl::cat(category),
      cl::desc("times that train --profile measured; default: the plan's "
               "estimate")};
  cl::list<std::string> speed{
      "speed", cl::value_desc("[program=]factor"), cl::cat(category),
      cl::desc("how many times as fast as that a program computes")};
  cl::opt<unsigned> ranks{
      "ranks", cl::init(0), cl::value_desc("number"), cl::cat(category),
      cl::desc("programs that share the batches (train.data_parallel)")};
  cl::opt<unsigned> tokens{
      "tokens", cl::init(0), cl::value_desc("number"), cl::cat(category),
      cl::desc("of a batch; default: batch_size x max_seq_length")};
  cl::opt<unsigned> steps{
      "steps", cl::init(0), cl::value_desc("number"), cl::cat(category),
      cl::desc("to simulate; default: 8, and 2 for each program of parts or "
               "modules")};
  cl::opt<std::string> svg{"svg", cl::value_desc("file"), cl::cat(category),
                           cl::desc("draw each program's work over time")};
  cl::opt<bool> json{"json", cl::cat(category),
                     cl::desc("print JSON in place of the table")};
};

} // namespace

static Status wrong(const std::string &option, const std::string &problem,
                    const std::string &remedy) {
  return Status(ErrorCode::WrongOption, option, problem, remedy);
}

/// The number of the program that "NAME=VALUE" names, and the value; no number
/// for a value alone. Names have no slash, so a path that begins with one or ./
/// may have an equals sign.
static Result<std::pair<std::optional<size_t>, std::string>>
named(const std::string &option, const std::string &given,
      const std::vector<std::string> &programs) {
  const size_t equals = given.find('=');
  if (given.substr(0, equals).find('/') != std::string::npos ||
      equals == std::string::npos)
    return std::make_pair(std::optional<size_t>(), given);
  const std::string name = given.substr(0, equals);
  const auto found = llvm::find(programs, name);
  if (found == programs.end())
    return wrong(option, "there is no program '" + name + "'",
                 programs.size() == 1
                     ? "leave the name out: the spec has one program"
                     : "the programs are " + llvm::join(programs, ", "));
  return std::make_pair(std::optional<size_t>(found - programs.begin()),
                        given.substr(equals + 1));
}

namespace {

struct Given {
  std::string option; ///< as it was written
  std::string value;
};

/// A program's times, from the options.
struct GivenTimes {
  std::optional<std::string> profile; ///< its path; none: the plan's estimate
  double speed = 1;
};

using Profiles = std::map<std::string, Profile>; ///< by path

} // namespace

/// The values of `option` for each program: given by its name, or else without
/// one.
static Result<std::vector<std::optional<Given>>>
givenTo(const std::vector<std::string> &programs,
        const cl::list<std::string> &option) {
  std::vector<std::optional<Given>> own(programs.size());
  std::optional<Given> others;
  for (const std::string &given : option) {
    const std::string written = "--" + option.ArgStr.str() + " " + given;
    HONE_ASSIGN(const auto of, named(written, given, programs));
    std::optional<Given> &to = of.first ? own[*of.first] : others;
    if (to)
      return wrong(written,
                   "expects one for a program, but there is " + to->option +
                       ", too",
                   "leave one of them out");
    to = Given{written, of.second};
  }
  bool isForNone = true;
  for (std::optional<Given> &each : own)
    if (!each) {
      each = others;
      isForNone = false;
    }
  if (others && isForNone)
    return wrong(others->option, "each program has one by its name",
                 "leave it out");
  return std::move(own);
}

static Result<double> readFactor(const Given &speed) {
  double factor = 0;
  if (llvm::StringRef(speed.value).getAsDouble(factor) ||
      !(factor >= 1 / kMostSpeed) || !(factor <= kMostSpeed))
    return wrong(speed.option, "expects a factor from 1e-6 to 1e6",
                 "2 is twice as fast as the times");
  return factor;
}

/// By program. Reads each file into `profiles`, once.
static Result<std::vector<GivenTimes>>
givenTimes(const Options &options, const std::vector<std::string> &programs,
           Profiles &profiles) {
  HONE_ASSIGN(const auto paths, givenTo(programs, options.profile));
  HONE_ASSIGN(const auto speeds, givenTo(programs, options.speed));
  std::vector<GivenTimes> times(programs.size());
  for (size_t i = 0; i < programs.size(); ++i) {
    if (speeds[i]) {
      HONE_ASSIGN(times[i].speed, readFactor(*speeds[i]));
    }
    if (!paths[i])
      continue;
    times[i].profile = paths[i]->value;
    if (!profiles.count(paths[i]->value)) {
      HONE_ASSIGN(profiles[paths[i]->value], Profile::read(paths[i]->value));
    }
  }
  return std::move(times);
}

/// Checks options that are numbers. A 0 that is given stands for no default.
static Status checkOptions(const Options &options) {
  if (options.ranks.getNumOccurrences() &&
      (options.ranks < 1 || options.ranks > kMostPrograms))
    return wrong("--ranks " + std::to_string(options.ranks),
                 "expects 1 to " + std::to_string(kMostPrograms),
                 "give another number");
  if (options.tokens.getNumOccurrences() && options.tokens == 0)
    return wrong("--tokens 0", "expects at least one for each sequence",
                 "leave it out for batch_size x max_seq_length");
  if (options.steps.getNumOccurrences() &&
      (options.steps < 2 || options.steps > 100000))
    return wrong("--steps " + std::to_string(options.steps),
                 "expects 2 to 100000: a step lies between the ends of two",
                 "leave it out");
  return Status::ok();
}

/// The names of `spec`'s programs, in order, or of its one program's ranks.
static Result<std::vector<std::string>> programNames(const Spec &spec,
                                                     unsigned ranks) {
  std::vector<std::string> names = spec.programs();
  if (ranks == 0)
    return names.empty() ? std::vector<std::string>{""} : names;
  if (!names.empty())
    return Status(ErrorCode::OptionsDisagree, "--ranks",
                  "ranks are of one program, and the spec has " +
                      std::to_string(names.size()),
                  "leave it out");
  if (!spec.train.data_parallel)
    return Status(ErrorCode::OptionsDisagree, "--ranks",
                  "the programs of the spec share no batches",
                  "set train.data_parallel to true");
  for (unsigned rank = 0; rank < ranks; ++rank)
    names.push_back("rank " + std::to_string(rank));
  return std::move(names);
}

/// Takes times from the plan's estimates, by the launches of a step of one
/// batch.
static Status estimate(const std::vector<LoadedProgram> &loaded,
                       SimulationRequest request,
                       std::vector<SimulatedProgram> &programs) {
  for (SimulatedProgram &program : request.programs)
    program.seconds.assign(program.module->kernel_count, 0);
  request.link = {};
  request.steps = request.batches = 1;
  HONE_ASSIGN(const std::vector<SimulatedRun> runs, runInVirtualTime(request));
  for (size_t i = 0; i < programs.size(); ++i)
    programs[i].seconds =
        estimatedTimes(loaded[request.areRanks ? 0 : i].blockSeconds,
                       *programs[i].module, runs[i].launches)
            .seconds;
  return Status::ok();
}

/// Returns where the times are from, in words.
static Result<std::string> setTimes(const std::vector<GivenTimes> &given,
                                    const Profiles &profiles,
                                    const std::vector<LoadedProgram> &loaded,
                                    SimulationRequest &request) {
  std::vector<SimulatedProgram> &programs = request.programs;
  const auto isMeasured = [](const GivenTimes &times) {
    return times.profile.has_value();
  };
  if (!llvm::all_of(given, isMeasured)) {
    // All ranks are one program.
    SimulationRequest alone = request;
    if (request.areRanks)
      alone.programs.resize(1);
    std::vector<SimulatedProgram> first = alone.programs;
    HONE_TRY(estimate(loaded, alone, first));
    for (size_t i = 0; i < programs.size(); ++i)
      programs[i].seconds = first[request.areRanks ? 0 : i].seconds;
  }
  for (auto [program, times] : llvm::zip_equal(programs, given)) {
    if (times.profile) {
      HONE_ASSIGN(KernelTimes measured,
                  profiles.at(*times.profile).timesOf(*program.module));
      program.seconds = std::move(measured.seconds);
      program.stepSeconds = measured.stepSeconds;
    }
    program.stepSeconds /= times.speed;
    for (double &seconds : program.seconds)
      seconds /= times.speed;
  }
  return std::string(llvm::none_of(given, isMeasured) ? "estimated"
                     : llvm::all_of(given, isMeasured)
                         ? "measured"
                         : "measured, and estimated where no profile is given");
}

static std::string orElse(const std::string &given, const char *standard) {
  return given.empty() ? standard : given;
}

static std::string describe(const Options &options,
                            const SimulationRequest &request,
                            const std::string &times) {
  const size_t count = request.programs.size();
  std::string text =
      count == 1
          ? "one program"
          : std::to_string(count) + (request.areRanks ? " ranks" : " programs");
  text += ", network: " + orElse(options.rate, "no bound") + ", " +
          orElse(options.latency, "no delay") + " one way, times: " + times;
  for (const std::string &speed : options.speed)
    text += ", speed " + speed;
  return text;
}

static Status run(const Options &options) {
  HONE_TRY(checkOptions(options));
  SimulationRequest request;
  if (!options.rate.empty()) {
    HONE_ASSIGN(request.link.bytesPerSecond, readRate("--rate", options.rate));
  }
  if (!options.latency.empty()) {
    HONE_ASSIGN(request.link.latency,
                readSeconds("--latency", options.latency));
  }
  HONE_ASSIGN(Spec spec, readSpec(options.spec, options.onSpec.overrides()));
  HONE_ASSIGN(const std::vector<std::string> names,
              programNames(spec, options.ranks));
  Profiles profiles;
  HONE_ASSIGN(const std::vector<GivenTimes> given,
              givenTimes(options, names, profiles));
  // Compiling takes longer than all the rest, so options are right by now.
  HONE_ASSIGN(const std::vector<LoadedProgram> loaded,
              loadPrograms(std::move(spec)));
  request.areRanks = options.ranks > 0;
  for (size_t i = 0; i < names.size(); ++i)
    request.programs.push_back(
        {names[i], &*loaded[request.areRanks ? 0 : i].module, {}, 0});
  request.link.window = options.window;
  if (!request.areRanks) { // which meet over gRPC
    request.link.payload = grpcPayload(request.programs.size());
  } else { // which meet over MPI
    if (!options.window.getNumOccurrences())
      request.link.window = kMpiEagerBytes;
    request.link.isMpi = true;
    request.link.payload = rt::Ranks::pieceBytes(options.ranks);
  }
  request.rows = options.tokens;
  // Modules work on as many steps at a time, which begin one after the other.
  // Ranks meet in each step, so all steps after the first are alike.
  request.steps = options.steps > 0 ? options.steps
                  : request.areRanks
                      ? kDefaultSteps
                      : kDefaultSteps + 2 * request.programs.size();
  HONE_ASSIGN(const std::string times,
              setTimes(given, profiles, loaded, request));
  HONE_ASSIGN(const std::vector<SimulatedRun> runs, runInVirtualTime(request));
  const Prediction prediction = predict(request.programs, runs);
  const std::string assumed = describe(options, request, times);
  if (!options.svg.empty())
    HONE_TRY(rt::writeFile(
        options.svg, drawing(request.programs, runs, assumed, kDrawnSteps)));
  llvm::outs() << (options.json ? json(prediction)
                                : table(prediction, assumed));
  return Status::ok();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  beginTool();
  Options options;
  cl::HideUnrelatedOptions(options.category);
  Status status = parseCommandLine(
      argc, argv,
      "Predicts the time of a step that several programs take together\n");
  if (status.isOk())
    status = run(options);
  return reportStatus(status);
}
