//===- Spec.cpp - What the user asked for ---------------------------------===//
//
// The table first: whoever adds a key adds one row and one member of Spec.
// A row without a section is a key of the top level.
//
//===----------------------------------------------------------------------===//

#include "compiler/spec/Spec.h"
#include "base/Json.h"
#include "compiler/spec/SpecRules.h"
#include "compiler/spec/Suggestion.h"

#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <variant>

using namespace hone;
using llvm::StringRef;
using rt::ExitCode;
using rt::Result;
using rt::Status;

namespace {

using StringList = std::vector<std::string>;
using Field =
    std::variant<int64_t *, double *, bool *, std::string *, StringList *>;

enum class Range { Any, Positive, NotNegative, Fraction };

struct SpecKey {
  const char *name;         ///< "section.key"
  const char *defaultValue; ///< YAML; null: the key is required
  const char *help;
  Field (*field)(Spec &);
  Range range = Range::Any;
  StringList allowed = {};  ///< every value, for keys with a closed set
  StringList reserved = {}; ///< values that Hone knows but cannot do yet
  bool isPath = false;
};

} // namespace

static const std::vector<SpecKey> &specKeys() {
#define FIELD(MEMBER) [](Spec &s) -> Field { return &s.MEMBER; }
  static const std::vector<SpecKey> keys = {
      {"model",
       nullptr,
       "a Hugging Face model directory, or an .mlir file",
       FIELD(model),
       Range::Any,
       {},
       {},
       true},

      {"weights.dtype",
       "float32",
       "how frozen matrices are stored; default: as train.compute_dtype, or as "
       "the model if it is quantised",
       FIELD(weights.dtype),
       Range::Any,
       {"float32", "float64", "bfloat16", "int8", "int4"},
       {"float16"}},
      {"weights.group_size", "64",
       "weights of int8 and int4 that share a scale: 32, 64 or 128",
       FIELD(weights.group_size), Range::Positive},
      {"weights.path",
       "",
       "safetensors file or directory of an .mlir model; default: "
       "model.safetensors beside it",
       FIELD(weights.path),
       Range::Any,
       {},
       {},
       true},

      {"weights.streaming",
       "false",
       "let the pages of a layer's weights go when it has run, and read the "
       "next layer's ahead; planned: if train.resident_budget asks for it",
       FIELD(weights.streaming),
       Range::Any,
       {"false", "true", "planned"}},

      {"lora.r", "8", "rank of the update", FIELD(lora.r), Range::Positive},
      {"lora.lora_alpha", "8", "numerator of the scale of the update",
       FIELD(lora.lora_alpha), Range::Positive},
      {"lora.target_modules", "[q_proj, v_proj]",
       "modules that get an adapter: all-linear, or a list of names",
       FIELD(lora.target_modules)},
      {"lora.use_rslora", "false", "scale by lora_alpha / sqrt(r)",
       FIELD(lora.use_rslora)},
      {"lora.dtype",
       "float32",
       "element type of the adapter; bfloat16 is rounded stochastically by "
       "each "
       "update, its gradients and optimizer state are float32",
       FIELD(lora.dtype),
       Range::Any,
       {"float32", "float64", "bfloat16"},
       {"float16"}},

      {"train.method",
       "backprop",
       "how gradients are obtained",
       FIELD(train.method),
       Range::Any,
       {"backprop"},
       {"lcsb", "mezo", "fgd"}},
      {"train.residuals",
       "planned",
       "what the forward pass keeps: block inputs only (mesp), also LoRA's h = "
       "xA (store-h), block inputs with the whole block run again (mebp), "
       "everything the backward reads (full), or what train.memory_budget "
       "allows (planned)",
       FIELD(train.residuals),
       Range::Any,
       {"mesp", "store-h", "mebp", "full", "planned"}},
      {"train.memory_budget", "",
       "for residuals: planned, the most anonymous memory that the process may "
       "take, as in 45MiB, or none for the fastest step; default: the smallest "
       "peak that costs 5 % of mesp's time",
       FIELD(train.memory_budget)},
      {"train.resident_budget", "",
       "for residuals: planned, the most resident memory: as memory_budget, "
       "with the mapped weights, program and libraries",
       FIELD(train.resident_budget)},
      {"train.kept_dtype",
       "float32",
       "what block inputs and the inner values of layers may be kept in by "
       "residuals: planned, where the budget asks for it; bfloat16 changes "
       "gradients",
       FIELD(train.kept_dtype),
       Range::Any,
       {"float32", "bfloat16"}},
      {"train.optimizer",
       "adamw",
       "update rule",
       FIELD(train.optimizer),
       Range::Any,
       {"adamw", "sgd"}},
      {"train.optimizer_in_backward", "false",
       "update each layer as soon as its backward has run, so that gradients "
       "of "
       "one layer exist at a time; there is no max_grad_norm then",
       FIELD(train.optimizer_in_backward)},
      {"train.momentum", "0", "momentum of sgd", FIELD(train.momentum),
       Range::Fraction},
      {"train.adam_beta1", "0.9", "decay of adamw's first moment",
       FIELD(train.adam_beta1), Range::Fraction},
      {"train.adam_beta2", "0.999", "decay of adamw's second moment",
       FIELD(train.adam_beta2), Range::Fraction},
      {"train.adam_epsilon", "1e-8", "added to adamw's denominator",
       FIELD(train.adam_epsilon), Range::NotNegative},
      {"train.batch_size", "1", "most sequences in a batch",
       FIELD(train.batch_size), Range::Positive},
      {"train.max_seq_length", "256", "most tokens in a sequence",
       FIELD(train.max_seq_length), Range::Positive},
      {"train.learning_rate", "5e-5", "peak learning rate",
       FIELD(train.learning_rate), Range::NotNegative},
      {"train.weight_decay", "0", "decoupled for adamw, L2 for sgd",
       FIELD(train.weight_decay), Range::NotNegative},
      {"train.lr_scheduler_type",
       "linear",
       "learning rate after the warm-up",
       FIELD(train.lr_scheduler_type),
       Range::Any,
       {"constant", "linear", "cosine"},
       {"constant_with_warmup", "cosine_with_restarts", "polynomial",
        "inverse_sqrt"}},
      {"train.warmup_steps", "0", "steps of linear warm-up",
       FIELD(train.warmup_steps), Range::NotNegative},
      {"train.max_grad_norm", "1.0",
       "global gradient norm to clip at; 0: never", FIELD(train.max_grad_norm),
       Range::NotNegative},
      {"train.gradient_accumulation_steps", "1", "batches per step",
       FIELD(train.gradient_accumulation_steps), Range::Positive},
      {"train.seed", "42", "of initial values and data order",
       FIELD(train.seed), Range::NotNegative},
      {"train.steps", "0", "steps of the run; 0: one pass over the data",
       FIELD(train.steps), Range::NotNegative},
      {"train.shuffle", "true", "visit samples in a random order",
       FIELD(train.shuffle)},
      {"train.save_every", "500",
       "steps between checkpoints; 0: only at the end", FIELD(train.save_every),
       Range::NotNegative},
      {"train.compute_dtype",
       "float32",
       "element type of activations; float64 is for tests",
       FIELD(train.compute_dtype),
       Range::Any,
       {"float32", "float64"},
       {"bfloat16", "float16"}},
      {"train.float32_matmul_precision",
       "highest",
       "what float32 products with weights and in attention compute with, as "
       "in PyTorch: float32 (highest), or operands rounded to bfloat16 and "
       "float32 sums (medium)",
       FIELD(train.float32_matmul_precision),
       Range::Any,
       {"highest", "medium"},
       {"high"}},

      {"target.triple", "native", "native, or an LLVM target triple",
       FIELD(target.triple)},
      {"target.cpu", "", "LLVM CPU name; default: this machine's for native",
       FIELD(target.cpu)},
      {"target.features", "[]",
       "LLVM features to add or remove: +avx512f, -fma",
       FIELD(target.features)},
      {"target.profile",
       "",
       "measured rates for residuals: planned (./dev bench --profile FILE); "
       "default: nominal ones",
       FIELD(target.profile),
       Range::Any,
       {},
       {},
       true},
  };
#undef FIELD
  return keys;
}

static bool parseReal(StringRef text, double &value) {
  auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  return error == std::errc() && end == text.end() && !text.empty() &&
         std::isfinite(value);
}

std::optional<MemoryBudget> MemoryBudget::parse(StringRef text) {
  if (text == "none")
    return MemoryBudget{Kind::None, 0};
  double unit = 1;
  for (auto [suffix, bytes] :
       {std::pair("KiB", 0x1p10), std::pair("MiB", 0x1p20),
        std::pair("GiB", 0x1p30)})
    if (text.consume_back(suffix))
      unit = bytes;
  double number = 0;
  if (!parseReal(text.rtrim(), number) || number <= 0 ||
      number * unit >= 0x1p62)
    return std::nullopt;
  return MemoryBudget{Kind::Bytes, static_cast<int64_t>(number * unit)};
}

MemoryBudget Spec::memoryBudget() const {
  return MemoryBudget::parse(train.memory_budget).value_or(MemoryBudget());
}

MemoryBudget Spec::residentBudget() const {
  return MemoryBudget::parse(train.resident_budget).value_or(MemoryBudget());
}

double Spec::loraScale() const {
  double rank = static_cast<double>(lora.r);
  return lora.lora_alpha / (lora.use_rslora ? std::sqrt(rank) : rank);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static const SpecKey *findKey(StringRef name) {
  for (const SpecKey &key : specKeys())
    if (name == key.name)
      return &key;
  return nullptr;
}

/// Last words of the keys in `section`, or the words of the top level.
static StringList wordsIn(StringRef section) {
  StringList words;
  for (const SpecKey &key : specKeys()) {
    auto [head, tail] = StringRef(key.name).split('.');
    StringRef word = section.empty() ? head : tail;
    if ((section.empty() || head == section) &&
        (words.empty() || words.back() != word))
      words.push_back(word.str());
  }
  return words;
}

static bool isSection(StringRef name) {
  return llvm::any_of(specKeys(), [&](const SpecKey &key) {
    return StringRef(key.name).starts_with((name + ".").str());
  });
}

static const char *kindName(const Field &field) {
  static constexpr const char *names[] = {
      "an integer", "a number", "true or false", "a word", "a list of words"};
  return names[field.index()];
}

static const char *rangeName(Range range) {
  switch (range) {
  case Range::Any:
    return "";
  case Range::Positive:
    return "greater than 0";
  case Range::NotNegative:
    return "at least 0";
  case Range::Fraction:
    return "at least 0 and below 1";
  }
  return "";
}

static bool isIn(double value, Range range) {
  switch (range) {
  case Range::Any:
    return true;
  case Range::Positive:
    return value > 0;
  case Range::NotNegative:
    return value >= 0;
  case Range::Fraction:
    return value >= 0 && value < 1;
  }
  return false;
}

/// Decimal digits with an optional minus; nothing else counts as an integer.
static bool parseInteger(StringRef text, int64_t &value) {
  auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  return error == std::errc() && end == text.end() && !text.empty();
}

namespace {

/// One spec file, or one --set argument, being read into `spec`.
class SpecReader {
public:
  SpecReader(Spec &spec, std::string place, std::string folder)
      : spec(spec), place(std::move(place)), folder(std::move(folder)) {}

  Status readDocument(const std::string &text);
  Status setKey(const std::string &name, const YAML::Node &node,
                const YAML::Node &keyNode);
  Status setValue(const SpecKey &key, const YAML::Node &node);

  Status error(const YAML::Node &node, const std::string &key,
               const std::string &problem, const std::string &remedy) {
    return errorAt(node.Mark(), key, problem, remedy);
  }
  Status errorAt(const YAML::Mark &mark, const std::string &key,
                 const std::string &problem, const std::string &remedy);

  bool withLines = true; ///< false for --set, which has no lines

private:
  Status setMapping(const std::string &prefix, const YAML::Node &map);
  Status setList(const SpecKey &key, StringList &list, const YAML::Node &node);
  Status setString(const SpecKey &key, std::string &value,
                   const YAML::Node &node);

  Spec &spec;
  std::string place, folder;
};

} // namespace

Status SpecReader::errorAt(const YAML::Mark &mark, const std::string &key,
                           const std::string &problem,
                           const std::string &remedy) {
  std::string where = place;
  if (withLines && mark.line >= 0)
    where += ":" + std::to_string(mark.line + 1) + ":" +
             std::to_string(mark.column + 1);
  if (!key.empty())
    where += ": " + key;
  return Status::error(ExitCode::Usage, {where, problem, remedy});
}

static std::string describeNode(const YAML::Node &node) {
  switch (node.Type()) {
  case YAML::NodeType::Scalar:
    return "'" + node.Scalar() + "'";
  case YAML::NodeType::Sequence:
    return "a list";
  case YAML::NodeType::Map:
    return "a mapping";
  default:
    return "nothing";
  }
}

/// A plain scalar has the tag "?", a quoted one "!".
static bool isPlain(const YAML::Node &node) {
  return node.IsScalar() && node.Tag() == "?";
}

static std::string helpFor(const SpecKey &key) {
  std::string text = std::string(key.name) + " is " + key.help;
  if (key.defaultValue && *key.defaultValue)
    text += "; the default is " + std::string(key.defaultValue);
  return text;
}

Status SpecReader::setString(const SpecKey &key, std::string &value,
                             const YAML::Node &node) {
  if (!node.IsScalar() || node.Scalar().empty())
    return error(node, key.name,
                 "expected " + std::string(key.isPath ? "a path" : "a word") +
                     " but found " + describeNode(node),
                 helpFor(key));
  const std::string &word = node.Scalar();
  if (llvm::is_contained(key.reserved, word))
    return error(node, key.name, "'" + word + "' is not supported yet",
                 "supported now: " + llvm::join(key.allowed, ", "));
  if (!key.allowed.empty() && !llvm::is_contained(key.allowed, word))
    return error(node, key.name,
                 "expected one of " + llvm::join(key.allowed, ", ") +
                     " but found '" + word + "'",
                 suggest(word, key.allowed));
  value = word;
  if (key.isPath && llvm::sys::path::is_relative(value)) {
    llvm::SmallString<128> joined(folder);
    llvm::sys::path::append(joined, value);
    value = joined.str().str();
  }
  return Status::ok();
}

Status SpecReader::setList(const SpecKey &key, StringList &list,
                           const YAML::Node &node) {
  bool modules = StringRef(key.name) == "lora.target_modules";
  if (modules && node.IsScalar() && node.Scalar() == "all-linear") {
    list = {"all-linear"};
    return Status::ok();
  }
  if (modules && node.IsScalar())
    return error(node, key.name,
                 "expected all-linear or a list of module names but found '" +
                     node.Scalar() + "'",
                 "PEFT reads a string as a regular expression, which is not "
                 "supported; write a list: [" +
                     node.Scalar() + "]");
  if (!node.IsSequence())
    return error(node, key.name,
                 std::string("expected a list of words but found ") +
                     describeNode(node),
                 helpFor(key));
  list.clear();
  for (const YAML::Node &item : node) {
    if (!item.IsScalar() || item.Scalar().empty())
      return error(item, key.name,
                   "expected a word but found " + describeNode(item),
                   helpFor(key));
    if (llvm::is_contained(list, item.Scalar()))
      return error(item, key.name, "'" + item.Scalar() + "' appears twice",
                   "remove one of the two");
    list.push_back(item.Scalar());
  }
  if (modules && list.empty())
    return error(node, key.name, "expected at least one module but found none",
                 "write all-linear, or a list of names such as [q_proj, "
                 "v_proj]");
  return Status::ok();
}

Status SpecReader::setValue(const SpecKey &key, const YAML::Node &node) {
  Field field = key.field(spec);
  if (auto *list = std::get_if<StringList *>(&field))
    return setList(key, **list, node);
  if (auto *word = std::get_if<std::string *>(&field))
    return setString(key, **word, node);

  double number = 0;
  bool good = isPlain(node);
  if (auto *integer = std::get_if<int64_t *>(&field)) {
    good = good && parseInteger(node.Scalar(), **integer);
    number = good ? static_cast<double>(**integer) : 0;
  } else if (auto *real = std::get_if<double *>(&field)) {
    good = good && parseReal(node.Scalar(), **real);
    number = **real;
  } else {
    good = good && (node.Scalar() == "true" || node.Scalar() == "false");
    if (good)
      *std::get<bool *>(field) = node.Scalar() == "true";
  }
  if (!good)
    return error(node, key.name,
                 std::string("expected ") + kindName(field) + " but found " +
                     (node.IsScalar() && !isPlain(node)
                          ? "the quoted text \"" + node.Scalar() + "\""
                          : describeNode(node)),
                 helpFor(key));
  if (!isIn(number, key.range))
    return error(node, key.name,
                 std::string("expected a number ") + rangeName(key.range) +
                     " but found " + node.Scalar(),
                 helpFor(key));
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Documents
//===----------------------------------------------------------------------===//

Status SpecReader::setKey(const std::string &name, const YAML::Node &node,
                          const YAML::Node &keyNode) {
  if (const SpecKey *key = findKey(name)) {
    spec.given.insert(name);
    return setValue(*key, node);
  }
  if (isSection(name)) {
    // `target: native` is short for `target: {triple: native}`.
    if (name == "target" && node.IsScalar())
      return setKey("target.triple", node, keyNode);
    if (!node.IsMap())
      return error(node, name,
                   "expected a mapping but found " + describeNode(node),
                   "its keys: " + llvm::join(wordsIn(name), ", "));
    return setMapping(name, node);
  }
  auto [section, word] = StringRef(name).split('.');
  if (word.empty() || !isSection(section))
    return error(keyNode, name, "unknown key", suggest(section, wordsIn("")));
  return error(keyNode, name, "unknown key", suggest(word, wordsIn(section)));
}

Status SpecReader::setMapping(const std::string &prefix,
                              const YAML::Node &map) {
  std::map<std::string, YAML::Mark> seen;
  for (const auto &entry : map) {
    if (!entry.first.IsScalar())
      return error(entry.first, prefix,
                   "expected a word as key but found " +
                       describeNode(entry.first),
                   "one of: " + llvm::join(wordsIn(prefix), ", "));
    std::string word = entry.first.Scalar();
    std::string name = prefix.empty() ? word : prefix + "." + word;
    auto [first, isNew] = seen.emplace(word, entry.first.Mark());
    if (!isNew)
      return error(entry.first, name,
                   "the key appears twice; the first is on line " +
                       std::to_string(first->second.line + 1),
                   "remove one of the two");
    if (prefix.empty() && StringRef(word).contains('.'))
      return error(entry.first, name, "unknown key",
                   "dotted names are for --set; in the file write sections, "
                   "e.g. train: {seed: 1}");
    Status status = setKey(name, entry.second, entry.first);
    if (!status.isOk())
      return status;
  }
  return Status::ok();
}

namespace {
/// Reads past a document.
struct IgnoreEvents : YAML::EventHandler {
  using Mark = YAML::Mark;
  using Style = YAML::EmitterStyle::value;
  using Text = std::string;
  void OnDocumentStart(const Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark &, YAML::anchor_t) override {}
  void OnAlias(const Mark &, YAML::anchor_t) override {}
  void OnScalar(const Mark &, const Text &, YAML::anchor_t,
                const Text &) override {}
  void OnSequenceStart(const Mark &, const Text &, YAML::anchor_t,
                       Style) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark &, const Text &, YAML::anchor_t, Style) override {}
  void OnMapEnd() override {}
};
} // namespace

Status SpecReader::readDocument(const std::string &text) {
  YAML::Node document;
  bool hasMore = false;
  try {
    // Not LoadAll: a document may be empty, and then it reads them for ever.
    document = YAML::Load(text);
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    IgnoreEvents ignore;
    parser.HandleNextDocument(ignore);
    hasMore = static_cast<bool>(parser);
  } catch (const YAML::Exception &exception) {
    return errorAt(exception.mark, "",
                   "expected YAML but found a syntax error: " + exception.msg,
                   "see honec --help-spec for an example");
  }
  if (hasMore || !document.IsMap())
    return errorAt(YAML::Mark::null_mark(), "",
                   "expected one YAML mapping but found " +
                       (document.IsMap() ? std::string("2 documents or more")
                                         : describeNode(document)),
                   "start with: model: path/to/model");
  return setMapping("", document);
}

Result<Spec> hone::parseSpec(const std::string &text, const std::string &place,
                             llvm::ArrayRef<std::string> overrides) {
  Spec spec{};
  SpecReader defaults(spec, "default", "");
  for (const SpecKey &key : specKeys()) {
    if (!key.defaultValue || !*key.defaultValue)
      continue;
    Status status = defaults.setValue(key, YAML::Load(key.defaultValue));
    if (!status.isOk())
      return Status::error(ExitCode::Internal, status.message());
  }

  if (Status status = checkSpecText(text, place); !status.isOk())
    return status;
  spec.file = place;
  SpecReader file(spec, place, llvm::sys::path::parent_path(place).str());
  Status status = file.readDocument(text);
  if (!status.isOk())
    return status;

  for (const std::string &override : overrides) {
    auto [name, value] = StringRef(override).split('=');
    SpecReader argument(spec, "--set " + override, "");
    argument.withLines = false;
    YAML::Node node;
    try {
      if (!value.empty())
        node = YAML::Load(value.str());
    } catch (const YAML::Exception &exception) {
      return argument.errorAt(YAML::Mark::null_mark(), "",
                              "expected a YAML value but found a syntax error",
                              "write --set section.key=value");
    }
    if (name.empty() || value.empty())
      return argument.errorAt(YAML::Mark::null_mark(), "",
                              "expected section.key=value but found '" +
                                  override + "'",
                              "for example --set train.learning_rate=1e-3");
    status = argument.setKey(name.str(), node, YAML::Node());
    if (!status.isOk())
      return status;
  }
  status = checkSpec(spec);
  if (!status.isOk())
    return status;
  return spec;
}

Result<Spec> hone::readSpec(const std::string &path,
                            llvm::ArrayRef<std::string> overrides) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return Status::error(
        ExitCode::NoInput,
        {path,
         "expected a spec file but it cannot be read: " +
             buffer.getError().message(),
         "honec's first argument is a YAML file; see honec --help-spec"});
  return parseSpec((*buffer)->getBuffer().str(), path, overrides);
}

//===----------------------------------------------------------------------===//
// The table, for people and for the binary
//===----------------------------------------------------------------------===//

std::string hone::describeSpecKeys() {
  Spec spec{};
  std::string out = "A spec is a YAML file:\n\n"
                    "  model: path/to/Qwen2.5-0.5B\n"
                    "  lora: {r: 8, lora_alpha: 16, target_modules: "
                    "all-linear}\n"
                    "  train: {batch_size: 1, max_seq_length: 256, "
                    "learning_rate: 1e-4}\n"
                    "  target: native\n\nKeys:\n";
  for (const SpecKey &key : specKeys()) {
    Field field = key.field(spec);
    out += std::string("\n  ") + key.name + ": ";
    out += key.allowed.empty() ? (key.isPath ? "a path" : kindName(field))
                               : llvm::join(key.allowed, " | ");
    if (*rangeName(key.range))
      out += std::string(", ") + rangeName(key.range);
    out += !key.defaultValue ? " (required)"
           : *key.defaultValue
               ? std::string(" (default ") + key.defaultValue + ")"
               : "";
    out += std::string("\n      ") + key.help + "\n";
  }
  return out;
}

/// Shortest text that reads back as the same double.
static std::string formatReal(double value) {
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

static std::string fieldJson(const Field &field) {
  std::string out;
  if (auto *integer = std::get_if<int64_t *>(&field))
    out = std::to_string(**integer);
  else if (auto *real = std::get_if<double *>(&field))
    out = formatReal(**real);
  else if (auto *truth = std::get_if<bool *>(&field))
    out = **truth ? "true" : "false";
  else if (auto *word = std::get_if<std::string *>(&field))
    rt::appendJsonString(out, **word);
  else {
    out = "[";
    for (const std::string &item : *std::get<StringList *>(field)) {
      out += out.size() > 1 ? "," : "";
      rt::appendJsonString(out, item);
    }
    out += "]";
  }
  return out;
}

std::string hone::specSectionJson(const Spec &spec, StringRef section) {
  Spec copy = spec; // fields are found in a mutable Spec
  std::string out = "{";
  for (const SpecKey &key : specKeys()) {
    auto [head, word] = StringRef(key.name).split('.');
    if (head != section)
      continue;
    out += out.size() > 1 ? "," : "";
    rt::appendJsonString(out, word);
    out += ":" + fieldJson(key.field(copy));
  }
  return out + "}";
}
