//===- KeyReference.cpp - The keys of a spec, for people ------------------===//

#include "compiler/spec/KeyReference.h"

#include "base/HelpText.h"
#include "base/NearestName.h"
#include "compiler/spec/KeyAliases.h"
#include "compiler/spec/KeyExamples.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace hone;
using llvm::StringRef;

/// The first keys of --help-spec: all that most specs set.
static constexpr const char *usualKeys[] = {
    "model",           "weights.dtype",       "lora.r",
    "lora.lora_alpha", "lora.target_modules", "train.learning_rate",
    "train.epochs",    "train.batch_size",    "train.max_seq_length",
    "train.optimizer", "train.memory_budget", "target.triple"};

std::string hone::defaultOf(const rt::Setting &setting) {
  rt::Settings defaults;
  if (StringRef part = setting.section; part.consume_front("parts."))
    defaults.parts.add(part.str());
  for (rt::Setting *each : defaults.all())
    if (each->key() == setting.key())
      return each->list() ? "[" + llvm::join(*each->list(), ", ") + "]"
                          : each->text();
  return "";
}

rt::Settings hone::settingsOfSpecs() {
  rt::Settings settings;
  settings.parts.add("NAME");
  return settings;
}

std::vector<const rt::Setting *>
hone::describedSettings(const rt::Settings &all) {
  rt::Settings settings;
  std::vector<const rt::Setting *> described;
  for (const rt::Setting *setting : all.all())
    if (!StringRef(setting->section).contains('.') ||
        !rt::Settings::find(settings.train, *setting))
      described.push_back(setting);
  return described;
}

/// "float32 | bfloat16", "an integer at least 1".
static std::string valuesOf(const rt::Setting &setting) {
  const rt::Choices *choices = setting.choices();
  return choices && !choices->allowed.empty()
             ? llvm::join(choices->allowed, " | ")
             : setting.expected();
}

/// With those of some methods; empty: there is none.
static std::string allDefaultsOf(const rt::Setting &setting) {
  std::string standard = defaultOf(setting);
  for (auto [method, other] : setting.standards)
    standard += std::string("; with ") + method + ": " + other;
  return standard;
}

static std::string describeKey(const rt::Setting &setting) {
  const std::string standard = allDefaultsOf(setting);
  const std::string values =
      setting.key() + ": " + valuesOf(setting) +
      (setting.key() == "model" ? " (required)"
       : standard.empty()       ? ""
                                : " (default " + standard + ")");
  return "\n  " + rt::wrapped(values, /*indent=*/10, /*used=*/2) + "\n      " +
         rt::wrapped(setting.help, /*indent=*/6, /*used=*/6) + "\n";
}

std::string hone::describeSpecKeys() {
  std::string out = "A spec is a YAML file:\n\n"
                    "  model: path/to/Qwen2.5-0.5B\n"
                    "  lora: {r: 8, lora_alpha: 16, target_modules: "
                    "all-linear}  # none: all train\n"
                    "  train: {batch_size: 1, max_seq_length: 256, "
                    "learning_rate: 1e-4}\n"
                    "  target: native\n\nKeys that most specs set:\n";
  std::string others = "\nAll others:\n";
  const rt::Settings settings = settingsOfSpecs();
  for (const rt::Setting *setting : describedSettings(settings))
    (llvm::is_contained(usualKeys, setting->key()) ? out : others) +=
        describeKey(*setting);
  return out + others;
}

//===----------------------------------------------------------------------===//
// With examples
//===----------------------------------------------------------------------===//

std::vector<KeyExample> hone::allKeyExamples() {
  std::vector<KeyExample> all(std::begin(keyExamples), std::end(keyExamples));
  for (const std::string &method : rt::methodNames())
    llvm::append_range(all, findMethod(method)->examples);
  return all;
}

/// Null only if a key was added without one, which a test refuses.
static const char *exampleOf(const std::string &key) {
  for (const KeyExample &each : allKeyExamples())
    if (key == each.key)
      return each.spec;
  return nullptr;
}

/// "`lora.rank`, `lora.lora_r`"; empty: none.
static std::string aliasesOf(const std::string &key, const char *quote) {
  std::vector<std::string> names;
  for (const KeyAlias &alias : keyAliases)
    if (key == alias.key)
      names.push_back(quote + std::string(alias.alias) +
                      (alias.whenTrue ? std::string(": true") : std::string()) +
                      quote);
  return llvm::join(names, ", ");
}

static std::string indented(StringRef text) {
  std::string out;
  for (StringRef line : llvm::split(text.rtrim('\n'), '\n'))
    out += "      " + line.str() + "\n";
  return out;
}

/// The key of an alias, whole or by its last word.
static std::string keyNamed(StringRef name) {
  for (const KeyAlias &alias : keyAliases)
    if (name == alias.alias ||
        name == StringRef(alias.alias).rsplit('.').second)
      return alias.key;
  return name.str();
}

Result<std::string> hone::describeSpecKeys(llvm::ArrayRef<std::string> names) {
  const rt::Settings settings = settingsOfSpecs();
  const std::vector<const rt::Setting *> all = describedSettings(settings);
  std::string out;
  for (const std::string &name : names) {
    const std::string wanted = keyNamed(name);
    bool found = false;
    for (const rt::Setting *setting : all) {
      const std::string key = setting->key();
      if (wanted != key && wanted != setting->name &&
          !StringRef(key).starts_with(wanted + "."))
        continue;
      found = true;
      out += describeKey(*setting);
      if (const std::string other = aliasesOf(key, ""); !other.empty())
        out += "      also written as " + other + "\n";
      if (setting->setBy != rt::SetBy::Spec)
        out += "      also an option of train: " + setting->spelling() + "\n";
      if (const char *example = exampleOf(key))
        out += "\n" + indented(example);
    }
    if (found)
      continue;
    std::vector<std::string> words;
    for (const rt::Setting *setting : all) {
      words.push_back(setting->key());
      words.push_back(setting->name);
    }
    const std::string nearest = rt::nearestName(wanted, words);
    return Status(ErrorCode::UnknownKey, name, "unknown key",
                  nearest.empty() ? "hone keys lists all of them"
                                  : "did you mean '" + nearest + "'?");
  }
  return StringRef(out).ltrim('\n').str();
}

//===----------------------------------------------------------------------===//
// A page
//===----------------------------------------------------------------------===//

namespace {
struct SectionIntroduction {
  const char *section, *text;
};
} // namespace

static constexpr SectionIntroduction sections[] = {
    {"", "The model, and how conversations become text."},
    {"weights", "How the weights that do not train are stored."},
    {"lora",
     "What trains: adapters, or with `lora: none` everything. Names and "
     "meanings are those of PEFT's `LoraConfig`."},
    {"train", "How it trains. Names and meanings are those of Transformers' "
              "`TrainingArguments` where these have them."},
    {"parts.NAME", "2 to 64 parts by layers that have [methods of their "
                   "own](methods/parts.md), each under a name that you choose. "
                   "Beside `layers` stand the keys of `train` that belong to "
                   "the method."},
    {"exchange", "What crosses between [parts that are programs of their "
                 "own](methods/parts.md#parts-as-programs)."},
    {"generate", "The program that generates text."},
    {"target", "The machine that the program is for. `target: native` is short "
               "for `target: {triple: native}`."},
};

static StringRef headingOf(StringRef section) {
  if (section.empty())
    return "Model";
  return section.split('.').first;
}

/// A sentence of a help that begins with a small letter.
static std::string sentence(StringRef help) {
  std::string text = help.str();
  if (StringRef(help).split(' ').first != "lora_alpha") // a name stays
    text.front() = llvm::toUpper(text.front());
  return text + ".";
}

/// Signs that Markdown would take for its own, outside of code.
static std::string escaped(StringRef text) {
  std::string out;
  for (char c : text)
    out += (StringRef("*_<>[]|").contains(c) ? "\\" : "") + std::string(1, c);
  return out;
}

static std::string keyEntry(const rt::Setting &setting) {
  const std::string key = setting.key();
  const rt::Choices *choices = setting.choices();
  std::string out = "### `" + key + "`\n\n" + escaped(sentence(setting.help));
  std::string values = setting.expected();
  if (choices && !choices->allowed.empty()) {
    values.clear();
    for (const std::string &word : choices->allowed)
      values += (values.empty() ? "`" : ", `") + word + "`";
  } else {
    values = escaped(values);
  }
  out += "\n\n* Value: " + values + "\n";
  if (const std::string standard = defaultOf(setting); !standard.empty()) {
    out += "* Default: `" + standard + "`";
    for (auto [method, other] : setting.standards)
      out += std::string("; with ") + method + " `" + other + "`";
    out += "\n";
  } else if (key == "model") {
    out += "* Required\n";
  }
  if (!setting.readBy.methods.empty())
    out += "* Read by: " + llvm::join(setting.readBy.methods, ", ") + "\n";
  if (const auto &readers = setting.readBy.optimizers; !readers.empty())
    out += std::string("* Read by: optimizer") +
           (readers.size() == 1 ? " " : "s ") + llvm::join(readers, ", ") +
           "\n";
  if (setting.setBy != rt::SetBy::Spec)
    out += "* Also an option of `train`: `" + setting.spelling() + "`\n";
  if (const std::string other = aliasesOf(key, "`"); !other.empty())
    out += "* Also written as " + other + "\n";
  if (const char *example = exampleOf(key))
    out += "\n```yaml\n" + std::string(example) + "```\n";
  return out + "\n";
}

std::string hone::specReferencePage() {
  std::string out =
      "# The keys of a spec\n\n"
      "A spec is a YAML file. `hone finetune` writes one, and `--set "
      "section.key=value` sets a key of it. This page is what\n"
      "`hone keys --format=markdown` prints, and `hone keys lora.r` shows one "
      "key. `./dev check KeyReference` compiles each example.\n\n"
      "Keys that most specs set: ";
  auto link = [](const std::string &key) {
    std::string anchor;
    for (char c : key)
      if (c != '.')
        anchor += c;
    return "[`" + key + "`](#" + anchor + ")";
  };
  for (const char *key : usualKeys)
    out += (key == usualKeys[0] ? "" : ",\n") + link(key);
  out += ".\n\n";
  const rt::Settings settings = settingsOfSpecs();
  StringRef heading;
  for (const SectionIntroduction &section : sections) {
    if (headingOf(section.section) != heading) {
      heading = headingOf(section.section);
      out += "## " + heading.str() + "\n\n" + section.text + "\n\n";
    }
    for (const rt::Setting *setting : describedSettings(settings))
      if (StringRef(setting->section) == section.section)
        out += keyEntry(*setting);
  }
  return StringRef(out).rtrim('\n').str() + "\n";
}
