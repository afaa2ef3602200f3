//===- Options.cpp - The command line of a training binary ----------------===//
//
// To add an option: a member of Options and a row of the table. A row's target
// has the member's type, which is also how its argument is read.
//
//===----------------------------------------------------------------------===//

#include "program/Options.h"

#include "program/NearestName.h"
#include "threads/Pool.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <variant>

namespace hone::rt {

namespace {

struct Text {
  std::string Options::*member;
};
struct Flag {
  bool Options::*member;
};
struct Truth {
  bool Options::*member;
};
struct Count {
  uint64_t Options::*member;
  uint64_t least, most;
};
struct Real {
  double Options::*member; ///< finite and at least zero
};
struct Scheduler {
  LrScheduler Options::*member;
};

struct Option {
  const char *name;
  const char *argument; ///< null for a flag
  const char *help;
  std::variant<Text, Flag, Truth, Count, Real, Scheduler> target;
};

} // namespace

// Counts fit in a signed 64-bit number, so that their sums cannot wrap.
static constexpr uint64_t many = uint64_t(1) << 53;

static const Option table[] = {
    {"data", "FILE",
     "what to train on: .txt, or .jsonl of texts, prompts or ids",
     Text{&Options::data}},
    {"output", "DIR",
     "where checkpoints and the adapter go; a run in it resumes",
     Text{&Options::output}},
    {"eval-data", "FILE", "what to evaluate on", Text{&Options::evalData}},
    {"eval-every", "N", "evaluate after every N steps; 0: after the last",
     Count{&Options::evalEvery, 0, many}},
    {"eval-only", nullptr, "print the mean loss on --eval-data and exit",
     Flag{&Options::evalOnly}},
    {"allow-other-numerics", nullptr,
     "resume a run that was computed by other instructions or roundings",
     Flag{&Options::allowOtherNumerics}},
    {"adapter", "DIR", "start from this PEFT adapter", Text{&Options::adapter}},
    {"weights", "FILE", "the frozen weights, if not beside this program",
     Text{&Options::weights}},
    {"steps", "N", "how many updates, instead of --epochs",
     Count{&Options::steps, 1, many}},
    {"epochs", "N", "how many passes over the data",
     Count{&Options::epochs, 1, many}},
    {"learning-rate", "X", "the highest learning rate",
     Real{&Options::learningRate}},
    {"weight-decay", "X",
     "decoupled decay for AdamW, else added to the gradient",
     Real{&Options::weightDecay}},
    {"warmup-steps", "N", "steps over which the learning rate rises from 0",
     Count{&Options::warmupSteps, 0, many}},
    {"lr-scheduler-type", "NAME",
     "constant, linear or cosine, after the warm-up",
     Scheduler{&Options::scheduler}},
    {"max-grad-norm", "X", "clip the gradient to this norm; 0: do not clip",
     Real{&Options::maxGradNorm}},
    {"gradient-accumulation-steps", "N", "batches for each update",
     Count{&Options::gradientAccumulationSteps, 1, uint64_t(1) << 20}},
    {"seed", "N", "of the adapter's start and the order of the data",
     Count{&Options::seed, 0, std::numeric_limits<int64_t>::max()}},
    {"shuffle", "true|false", "a new order of the data in each epoch",
     Truth{&Options::shuffle}},
    {"threads", "N", "results do not depend on it",
     Count{&Options::threads, 1, Pool::maxThreads}},
    {"log", "FILE", "append a JSON line for each step", Text{&Options::log}},
    {"profile", "FILE",
     "time every kernel; print where the time went and write it as JSON",
     Text{&Options::profile}},
    {"save-every", "N", "save a checkpoint every N steps; 0: after the last",
     Count{&Options::saveEvery, 0, many}},
    {"plan", nullptr, "print the planned peak of memory and exit",
     Flag{&Options::plan}},
    {"dump-gradients", "FILE",
     "write the gradients of the file's first batch as safetensors and exit",
     Text{&Options::dumpGradients}},
    {"help", nullptr, "print this and exit", Flag{&Options::help}},
    {"version", nullptr, "print versions and exit", Flag{&Options::version}},
};

const char *lrSchedulerName(LrScheduler scheduler) {
  switch (scheduler) {
  case LrScheduler::Constant:
    return "constant";
  case LrScheduler::Linear:
    return "linear";
  case LrScheduler::Cosine:
    return "cosine";
  }
  return "";
}

static bool parseScheduler(const std::string &text, LrScheduler &out) {
  for (LrScheduler each :
       {LrScheduler::Constant, LrScheduler::Linear, LrScheduler::Cosine})
    if (text == lrSchedulerName(each)) {
      out = each;
      return true;
    }
  // Transformers' name for the same schedule.
  if (text != "constant_with_warmup")
    return false;
  out = LrScheduler::Constant;
  return true;
}

static bool parseCount(const std::string &text, uint64_t &out) {
  if (text.empty() || text.size() > 19 ||
      text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  out = strtoull(text.c_str(), nullptr, 10);
  return true;
}

static bool parseReal(const std::string &text, double &out) {
  if (text.empty() ||
      text.find_first_not_of("0123456789.eE+-") != std::string::npos)
    return false;
  char *end = nullptr;
  out = strtod(text.c_str(), &end);
  return *end == 0 && std::isfinite(out);
}

static std::string describeReal(double value) {
  char text[32];
  snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

/// Reads `text` into the member that `option` names. Returns what was
/// expected instead, or an empty string.
static std::string assign(const Option &option, const std::string &text,
                          Options &out) {
  if (auto *target = std::get_if<Text>(&option.target)) {
    out.*target->member = text;
    return text.empty() ? "a name that is not empty" : "";
  }
  if (auto *target = std::get_if<Truth>(&option.target)) {
    out.*target->member = text == "true";
    return text == "true" || text == "false" ? "" : "true or false";
  }
  if (auto *target = std::get_if<Count>(&option.target)) {
    uint64_t value = 0;
    if (parseCount(text, value) && value >= target->least &&
        value <= target->most) {
      out.*target->member = value;
      return "";
    }
    return "a whole number from " + std::to_string(target->least) + " to " +
           std::to_string(target->most);
  }
  if (auto *target = std::get_if<Real>(&option.target)) {
    double value = 0;
    if (parseReal(text, value) && value >= 0) {
      out.*target->member = value;
      return "";
    }
    return "a finite number that is not negative";
  }
  if (auto *target = std::get_if<Scheduler>(&option.target))
    return parseScheduler(text, out.*target->member)
               ? ""
               : "constant, linear or cosine";
  return "";
}

static std::string describeDefault(const Option &option,
                                   const Options &defaults) {
  if (auto *target = std::get_if<Truth>(&option.target))
    return defaults.*target->member ? "true" : "false";
  if (auto *target = std::get_if<Count>(&option.target)) {
    uint64_t value = defaults.*target->member;
    return value < target->least ? "" : std::to_string(value);
  }
  if (auto *target = std::get_if<Real>(&option.target))
    return describeReal(defaults.*target->member);
  if (auto *target = std::get_if<Scheduler>(&option.target))
    return lrSchedulerName(defaults.*target->member);
  return "";
}

static Status usageError(const std::string &place, const std::string &problem,
                         const std::string &remedy) {
  return Status::error(ExitCode::Usage, {place, problem, remedy});
}

static Status unknownOption(const std::string &argument,
                            const std::string &name) {
  std::vector<std::string> names;
  for (const Option &option : table)
    names.push_back(option.name);
  std::string near = nearestName(name, names);
  return usageError(argument, "there is no such option",
                    near.empty() ? "--help lists the options"
                                 : "did you mean --" + near + "?");
}

static Status checkCombination(const Options &options) {
  if (options.help || options.version || options.plan)
    return Status::ok();
  if (options.evalOnly)
    return options.evalData.empty()
               ? usageError("--eval-only", "expects --eval-data but got none",
                            "add --eval-data FILE")
               : Status::ok();
  if (options.data.empty())
    return usageError("command line", "expects --data but got none",
                      "add --data FILE; --help lists the options");
  if (options.output.empty() && options.dumpGradients.empty())
    return usageError("command line", "expects --output but got none",
                      "add --output DIR; --help lists the options");
  if (options.evalEvery != 0 && options.evalData.empty())
    return usageError("--eval-every", "expects --eval-data but got none",
                      "add --eval-data FILE");
  if (options.optimizerInBackward && options.maxGradNorm > 0)
    return usageError("--max-grad-norm",
                      "expects 0, since this program updates each layer in the "
                      "backward and never has all gradients to take a norm of",
                      "give --max-grad-norm 0, or compile with "
                      "optimizer_in_backward: false");
  if (options.optimizerInBackward && options.gradientAccumulationSteps > 1)
    return usageError("--gradient-accumulation-steps",
                      "expects 1, since this program updates each layer in the "
                      "backward of each batch",
                      "give 1 and compile with a larger batch_size, or with "
                      "optimizer_in_backward: false");
  return Status::ok();
}

Result<Options> Options::defaults(const TrainConfig &train) {
  Options options;
  options.steps = train.steps;
  options.learningRate = train.learningRate;
  options.weightDecay = train.weightDecay;
  options.warmupSteps = train.warmupSteps;
  options.maxGradNorm = train.maxGradNorm;
  options.gradientAccumulationSteps = train.gradientAccumulationSteps;
  options.seed = train.seed;
  options.shuffle = train.shuffle;
  options.optimizerInBackward = train.optimizerInBackward;
  options.saveEvery = train.saveEvery;
  options.threads = std::min<uint64_t>(Pool::availableCpus(), Pool::maxThreads);
  if (!parseScheduler(train.lrSchedulerType, options.scheduler))
    return Status::error(ExitCode::Internal,
                         {"compiled config, train.lr_scheduler_type",
                          "expects constant, linear or cosine but got '" +
                              train.lrSchedulerType + "'",
                          "compile the model again"});
  return options;
}

Result<Options> Options::parse(const std::vector<std::string> &arguments,
                               const Options &defaults) {
  Options options = defaults;
  bool epochsGiven = false, stepsGiven = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (argument == "-h") {
      options.help = true;
      continue;
    }
    if (argument.compare(0, 2, "--") != 0)
      return usageError("'" + argument + "'",
                        "expects an option, which starts with --",
                        "--help lists the options");
    size_t equals = argument.find('=');
    bool attached = equals != std::string::npos;
    std::string name = argument.substr(2, attached ? equals - 2 : equals);
    const Option *found = nullptr;
    for (const Option &option : table)
      if (name == option.name)
        found = &option;
    if (!found)
      return unknownOption(argument, name);
    if (auto *flag = std::get_if<Flag>(&found->target)) {
      if (attached)
        return usageError(argument, "the option takes no argument",
                          "write --" + name);
      options.*flag->member = true;
      continue;
    }
    std::string usage = "--" + name + " " + found->argument;
    if (!attached && i + 1 == arguments.size())
      return usageError("--" + name, "expects an argument but got none",
                        "write " + usage);
    std::string value = attached ? argument.substr(equals + 1) : arguments[++i];
    std::string expected = assign(*found, value, options);
    if (!expected.empty())
      return usageError("--" + name,
                        "expects " + expected + " but got '" + value + "'",
                        "write " + usage);
    stepsGiven |= name == "steps";
    epochsGiven |= name == "epochs";
  }
  if (stepsGiven && epochsGiven)
    return usageError("--epochs", "--steps already says how long to train",
                      "give one of the two");
  if (epochsGiven)
    options.steps = 0;
  if (Status status = checkCombination(options); !status.isOk())
    return status;
  return options;
}

std::string Options::usage(const Options &defaults) {
  std::string out = "usage: train --data FILE --output DIR [options]\n\n";
  char line[256];
  for (const Option &option : table) {
    std::string left = std::string("--") + option.name;
    if (option.argument)
      left += std::string(" ") + option.argument;
    std::string value = describeDefault(option, defaults);
    snprintf(line, sizeof(line), "  %-32s %s%s\n", left.c_str(), option.help,
             value.empty() ? "" : (" [" + value + "]").c_str());
    out += line;
  }
  return out +
         "\nexit codes\n"
         "  0 done   2 wrong command line   65 bad data, or the loss is no\n"
         "  longer finite   66 no such file   70 a bug   73 cannot create a\n"
         "  file   74 cannot read or write   130 stopped by SIGINT and saved\n"
         "  143 stopped by SIGTERM and saved; a second signal stops at once\n";
}

} // namespace hone::rt
