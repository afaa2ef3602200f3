//===- Spec.cpp - The user's request --------------------------------------===//
//
// YAML is read into the table of module/Settings.h; a path is made one that can
// be opened as it is.
//
//===----------------------------------------------------------------------===//

#include "compiler/spec/Spec.h"
#include "base/Json.h"
#include "compiler/rules/SpecRules.h"
#include "compiler/spec/KeyAliases.h"
#include "compiler/spec/KeyReference.h"
#include "compiler/spec/Suggestion.h"
#include "formats/Adapter.h"
#include "passes/parts/LayerParts.h"

#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <map>
#include <sstream>

using namespace hone;
using llvm::StringRef;

using StringList = std::vector<std::string>;

const rt::PartSettings *Spec::ownTarget() const {
  for (const auto &part : parts)
    if (!program.empty() && part->program == program && !part->target.empty())
      return part.get();
  return nullptr;
}

std::string Spec::targetKey() const {
  const rt::PartSettings *part = ownTarget();
  return part ? part->target.key() : target.triple.key();
}

std::string Spec::modelName() const {
  return llvm::sys::path::filename(StringRef(model).rtrim('/')).str();
}

bool Spec::roundsProducts() const {
  return train.compute_dtype == "bfloat16"
             ? train.bfloat16_products == "pairs"
             : train.float32_matmul_precision == "medium";
}

double Spec::loraScale() const {
  return rt::loraScale(lora.lora_alpha, lora.r, lora.use_rslora);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The words that may stand in `section`, or at the top level.
static StringList wordsIn(const Spec &spec, StringRef section) {
  StringList words;
  for (const rt::Setting *setting : spec.all()) {
    std::string key = setting->key();
    StringRef word = key;
    if (!section.empty() &&
        (!word.consume_front(section) || !word.consume_front(".")))
      continue;
    word = word.split('.').first;
    if (words.empty() || words.back() != word)
      words.push_back(word.str());
  }
  // Which has no keys before it has a part.
  if (section.empty() && spec.parts.empty())
    words.push_back("parts");
  return words;
}

static bool isSection(const Spec &spec, StringRef name) {
  return !name.empty() &&
         llvm::any_of(spec.all(), [&](const rt::Setting *setting) {
           StringRef section = setting->section;
           return section.consume_front(name) &&
                  (section.empty() || section.starts_with("."));
         });
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
  Status setValue(rt::Setting &setting, const YAML::Node &node);

  Status error(ErrorCode code, const YAML::Node &node, const std::string &key,
               const std::string &problem, const std::string &remedy) {
    return errorAt(code, node.Mark(), key, problem, remedy);
  }
  Status errorAt(ErrorCode code, const YAML::Mark &mark, const std::string &key,
                 const std::string &problem, const std::string &remedy);

  std::string option; ///< that sets the key; empty: the file, which has lines

private:
  Status setAlias(const KeyAlias &alias, const YAML::Node &node,
                  const YAML::Node &keyNode);
  /// Adds the part of which `key` is, without "parts.", unless there is one.
  Status addPart(StringRef key, const YAML::Node &keyNode);
  /// A section, or parts; some may also be one word.
  Status setSection(const std::string &name, const YAML::Node &node,
                    const YAML::Node &keyNode);
  /// The error of a key that there is not.
  Status refuseKey(const std::string &name, const YAML::Node &keyNode);
  Status setMapping(const std::string &prefix, const YAML::Node &map);
  Status setList(rt::Setting &setting, const YAML::Node &node);
  Status setNumbers(rt::NamedNumbers &setting, const YAML::Node &node);

  Spec &spec;
  std::string place, folder;
};

} // namespace

Status SpecReader::errorAt(ErrorCode code, const YAML::Mark &mark,
                           const std::string &key, const std::string &problem,
                           const std::string &remedy) {
  std::string where = place;
  if (option.empty() && mark.line >= 0)
    where += ":" + std::to_string(mark.line + 1) + ":" +
             std::to_string(mark.column + 1);
  if (!key.empty())
    where += ": " + key;
  return Status(code, where, problem, remedy);
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

static std::string helpFor(const rt::Setting &setting) {
  std::string text = setting.key() + ": " + setting.help;
  std::string standard = defaultOf(setting);
  return text + (standard.empty() ? "" : "; the default is " + standard);
}

/// A scalar of `node` without "\0", at which the system would end a path or a
/// name; empty: it is no such one.
static std::string textOf(const YAML::Node &node) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  return text.find('\0') == std::string::npos ? text : "";
}

Status SpecReader::setList(rt::Setting &setting, const YAML::Node &node) {
  std::string key = setting.key();
  bool modules = &setting == &spec.lora.target_modules;
  if (modules && node.IsScalar() && node.Scalar() == "all-linear") {
    *setting.list() = {"all-linear"};
    return Status::ok();
  }
  if (modules && node.IsScalar())
    return error(ErrorCode::UnsupportedValue, node, key,
                 "expected all-linear or a list of module names but found '" +
                     node.Scalar() + "'",
                 "PEFT reads a string as a regular expression, which is not "
                 "supported; write a list: [" +
                     node.Scalar() + "]");
  if (!node.IsSequence())
    return error(ErrorCode::BadSpecValue, node, key,
                 "expected a list of words but found " + describeNode(node),
                 helpFor(setting));
  StringList list;
  for (const YAML::Node &item : node) {
    if (textOf(item).empty())
      return error(ErrorCode::BadSpecValue, item, key,
                   "expected a word but found " + describeNode(item),
                   helpFor(setting));
    if (llvm::is_contained(list, item.Scalar()))
      return error(ErrorCode::RepeatedKey, item, key,
                   "'" + item.Scalar() + "' appears twice",
                   "remove one of the two");
    list.push_back(item.Scalar());
  }
  if (modules && list.empty())
    return error(ErrorCode::BadSpecValue, node, key,
                 "expected at least one module but found none",
                 "write all-linear, or a list of names such as [q_proj, "
                 "v_proj]");
  *setting.list() = std::move(list);
  return Status::ok();
}

Status SpecReader::setNumbers(rt::NamedNumbers &setting,
                              const YAML::Node &node) {
  const std::string key = setting.key();
  if (!node.IsMap())
    return error(ErrorCode::BadSpecValue, node, key,
                 "expected a mapping but found " + describeNode(node),
                 helpFor(setting));
  std::vector<std::pair<std::string, double>> before;
  setting.swap(before);
  for (const auto &entry : node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (llvm::any_of(setting, [&](const auto &e) { return e.first == name; }))
      return error(ErrorCode::RepeatedKey, entry.first, key,
                   "'" + name + "' appears twice", "remove one of the two");
    if (!entry.second.IsScalar() || !setting.add(name, entry.second.Scalar()))
      return error(ErrorCode::BadSpecValue, entry.second, key,
                   "expected " + setting.expectedNumber() + " for '" + name +
                       "' but found " + describeNode(entry.second),
                   helpFor(setting));
  }
  return Status::ok();
}

Status SpecReader::setValue(rt::Setting &setting, const YAML::Node &node) {
  if (setting.list())
    return setList(setting, node);
  if (setting.numbers())
    return setNumbers(*setting.numbers(), node);
  const rt::Choices *choices = setting.choices();
  // Quoted or not: JSON and writers of YAML quote sizes, and some numbers.
  std::string text = textOf(node);
  if (choices && llvm::is_contained(choices->reserved, text))
    return error(ErrorCode::UnsupportedValue, node, setting.key(),
                 "'" + text + "' is not supported yet",
                 "supported now: " + llvm::join(choices->allowed, ", "));
  if (choices && choices->path && !text.empty() &&
      llvm::sys::path::is_relative(text)) {
    llvm::SmallString<128> joined(folder);
    llvm::sys::path::append(joined, text);
    text = joined.str().str();
  }
  if (node.IsScalar() && setting.parse(text))
    return Status::ok();
  return error(ErrorCode::BadSpecValue, node, setting.key(),
               "expected " + setting.expectedNot(text) + " but found " +
                   describeNode(node),
               choices && !choices->allowed.empty() && !text.empty()
                   ? suggest(text, choices->allowed)
                   : helpFor(setting));
}

//===----------------------------------------------------------------------===//
// Documents
//===----------------------------------------------------------------------===//

/// Null if `name` is no alias.
static const KeyAlias *aliasOf(StringRef name) {
  const KeyAlias *found = llvm::find_if(
      keyAliases, [&](const KeyAlias &alias) { return name == alias.alias; });
  return found == std::end(keyAliases) ? nullptr : found;
}

/// The keys that end in `word` or in an alias of it. Parts repeat keys of
/// train, and are not looked at.
static std::vector<std::string> keysOfWord(const Spec &spec, StringRef word) {
  std::vector<std::string> keys;
  for (const rt::Setting *setting : spec.all())
    if (word == setting->name && !StringRef(setting->section).contains('.'))
      keys.push_back(setting->key());
  for (const KeyAlias &alias : keyAliases)
    if (StringRef(alias.alias).split('.').second == word)
      keys.push_back(alias.key);
  return keys;
}

/// The full name of `name` on a command line, where a key's last word is
/// enough. An alias stays one: messages name it, and its value may be another.
static std::string fullName(const Spec &spec, StringRef name) {
  if (name.contains('.') || isSection(spec, name))
    return name.str();
  for (const KeyAlias &alias : keyAliases)
    if (StringRef(alias.alias).split('.').second == name)
      return alias.alias;
  return canonicalKey(name);
}

std::string hone::canonicalKey(StringRef name) {
  if (const KeyAlias *alias = aliasOf(name))
    return alias->key;
  std::vector<std::string> keys;
  if (!name.contains('.'))
    keys = keysOfWord(Spec(), name);
  return keys.size() == 1 ? keys.front() : name.str();
}

Status SpecReader::setAlias(const KeyAlias &alias, const YAML::Node &node,
                            const YAML::Node &keyNode) {
  YAML::Node value = node;
  if (alias.whenTrue) {
    const bool isTrue = node.IsScalar() && node.Scalar() == "true";
    if (!isTrue && !(node.IsScalar() && node.Scalar() == "false"))
      return error(ErrorCode::BadSpecValue, node, alias.alias,
                   "expected true or false but found " + describeNode(node),
                   std::string("write ") + alias.key + ": " + alias.whenTrue);
    if (!isTrue) // as without it
      return Status::ok();
    value = YAML::Node(alias.whenTrue);
  }
  spec.notes.push_back(place + ": " + alias.alias + " is " + alias.key +
                       " here");
  return setKey(alias.key, value, keyNode);
}

Status SpecReader::addPart(StringRef key, const YAML::Node &keyNode) {
  auto [part, own] = key.split('.');
  if (part.empty() || spec.parts.find(part))
    return Status::ok();
  // A name that is a key of train is a key that lacks its part.
  const rt::PartSettings keys("");
  for (const rt::Setting *setting : keys.members())
    if (part == setting->name)
      return error(ErrorCode::UnknownKey, keyNode, "parts." + key.str(),
                   "expected the name of a part but found a key of one",
                   "write parts: {NAME: {" + part.str() + ": ...}}");
  // At once: each has dozens of keys, with which a name is compared.
  constexpr size_t most = LayerParts::mostParts;
  if (spec.parts.size() == most)
    return error(ErrorCode::BadSpecValue, keyNode, "parts",
                 "expected at most " + std::to_string(most) +
                     " parts but found more",
                 "give fewer parts more layers");
  spec.parts.add(part.str());
  return Status::ok();
}

Status SpecReader::setKey(const std::string &name, const YAML::Node &node,
                          const YAML::Node &keyNode) {
  if (const KeyAlias *alias = aliasOf(name))
    return setAlias(*alias, node, keyNode);
  if (StringRef key = name; key.consume_front("parts."))
    HONE_TRY(addPart(key, keyNode));
  for (rt::Setting *setting : spec.all())
    if (setting->key() == name) {
      std::string &giver = spec.given[name];
      if (StringRef(giver).starts_with("--")) // choices of `hone` give way
        return error(ErrorCode::RepeatedKey, keyNode, name,
                     giver + " sets the key, too", "remove one of the two");
      giver = option;
      return setValue(*setting, node);
    }
  return isSection(spec, name) || name == "parts"
             ? setSection(name, node, keyNode)
             : refuseKey(name, keyNode);
}

Status SpecReader::setSection(const std::string &name, const YAML::Node &node,
                              const YAML::Node &keyNode) {
  // `target: native` is short for `target: {triple: native}`.
  if (name == "target" && node.IsScalar())
    return setKey("target.triple", node, keyNode);
  // `lora: none` is short for `lora: {none: true}`, and replaces a section.
  if (name == "lora" && node.IsScalar() && node.Scalar() == "none") {
    for (const rt::Setting *setting : spec.lora.members())
      spec.given.erase(setting->key());
    spec.lora = rt::LoraSettings();
    spec.lora.none = true;
    spec.given[spec.lora.none.key()] = option;
    return Status::ok();
  }
  if (!node.IsMap())
    return error(ErrorCode::BadSpecValue, node, name,
                 "expected a mapping but found " + describeNode(node),
                 name == "parts"
                     ? "its keys are the parts' names"
                     : "its keys: " + llvm::join(wordsIn(spec, name), ", "));
  if (node.size() == 0 && name == "parts")
    return error(ErrorCode::BadSpecValue, node, name,
                 "expected keys but found none",
                 "remove it, or write parts: {lower: {layers: 0-4}}");
  if (node.size() == 0 && StringRef(name).starts_with("parts"))
    return Status::ok(); // as train says
  return setMapping(name, node);
}

Status SpecReader::refuseKey(const std::string &name,
                             const YAML::Node &keyNode) {
  // The words of the innermost section that there is.
  StringRef section = name;
  do
    section =
        section.take_front(section.contains('.') ? section.rfind('.') : 0);
  while (!section.empty() && !isSection(spec, section));
  StringRef word = StringRef(name).drop_front(section.size());
  word.consume_front(".");
  const std::vector<std::string> longer = StringRef(option).empty()
                                              ? std::vector<std::string>()
                                              : keysOfWord(spec, name);
  if (longer.size() > 1)
    return error(ErrorCode::UnknownKey, keyNode, name, "unknown key",
                 "write " + llvm::join(llvm::drop_end(longer), ", ") + " or " +
                     longer.back());
  return error(ErrorCode::UnknownKey, keyNode, name, "unknown key",
               suggest(word.split('.').first, wordsIn(spec, section)));
}

Status SpecReader::setMapping(const std::string &prefix,
                              const YAML::Node &map) {
  std::map<std::string, YAML::Mark> seen;
  for (const auto &entry : map) {
    if (!entry.first.IsScalar())
      return error(ErrorCode::BadSpec, entry.first, prefix,
                   "expected a word as key but found " +
                       describeNode(entry.first),
                   "one of: " + llvm::join(wordsIn(spec, prefix), ", "));
    std::string word = entry.first.Scalar();
    std::string name = prefix.empty() ? word : prefix + "." + word;
    const KeyAlias *alias = aliasOf(name);
    auto [first, isNew] =
        seen.emplace(alias ? alias->key : name, entry.first.Mark());
    if (!isNew)
      return error(ErrorCode::RepeatedKey, entry.first, name,
                   "the key appears twice; the first is on line " +
                       std::to_string(first->second.line + 1),
                   "remove one of the two");
    if (prefix.empty() && StringRef(word).contains('.'))
      return error(ErrorCode::UnknownKey, entry.first, name, "unknown key",
                   "dotted names are for --set; in the file write sections, "
                   "e.g. train: {seed: 1}");
    HONE_TRY(setKey(name, entry.second, entry.first));
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
    return errorAt(ErrorCode::BadSpec, exception.mark, "",
                   "expected YAML but found a syntax error: " + exception.msg,
                   "see honec --help-spec for an example");
  }
  if (hasMore || !document.IsMap())
    return errorAt(ErrorCode::BadSpec, YAML::Mark::null_mark(), "",
                   "expected one YAML mapping but found " +
                       (document.IsMap() ? std::string("2 documents or more")
                                         : describeNode(document)),
                   "start with: model: path/to/model");
  return setMapping("", document);
}

std::string Spec::placeOf(const std::string &key) const {
  auto found = given.find(key);
  bool isOption = found != given.end() && !found->second.empty();
  return (isOption ? found->second : file) + ": " + key;
}

Result<Spec> hone::parseSpec(const std::string &text, const std::string &place,
                             llvm::ArrayRef<SpecOverride> overrides) {
  Spec spec;
  HONE_TRY(checkSpecText(text, place));
  spec.file = place;
  SpecReader file(spec, place, llvm::sys::path::parent_path(place).str());
  HONE_TRY(file.readDocument(text));

  for (const SpecOverride &override : overrides) {
    auto [name, value] = StringRef(override.setting).split('=');
    SpecReader argument(spec, override.option, "");
    argument.option = override.option;
    YAML::Node node;
    try {
      if (!value.empty())
        node = YAML::Load(value.str());
    } catch (const YAML::Exception &exception) {
      return argument.errorAt(ErrorCode::BadSpec, YAML::Mark::null_mark(), "",
                              "expected a YAML value but found a syntax error",
                              "write --set section.key=value");
    }
    if (name.empty() || value.empty())
      return argument.errorAt(ErrorCode::BadSpec, YAML::Mark::null_mark(), "",
                              "expected section.key=value but found '" +
                                  override.setting + "'",
                              "for example --set train.learning_rate=1e-3");
    const std::string key = fullName(spec, name);
    // YAML has "cuda:" for a mapping, which nobody meant.
    if (value.ends_with(":") && node.IsMap())
      return argument.errorAt(ErrorCode::BadSpecValue, YAML::Mark::null_mark(),
                              key,
                              "expected something after the colon of '" +
                                  value.str() + "' but found nothing",
                              "leave the colon out, or write what follows it");
    HONE_TRY(argument.setKey(key, node, YAML::Node()));
  }
  HONE_TRY(checkSpec(spec));
  return spec;
}

/// Reads `bytes` bytes, or all there are. A pipe is read, and a device has no
/// end.
static std::error_code readBeginning(const std::string &path, size_t bytes,
                                     std::string &text) {
  llvm::Expected<llvm::sys::fs::file_t> file =
      llvm::sys::fs::openNativeFileForRead(path);
  if (!file)
    return llvm::errorToErrorCode(file.takeError());
  text.resize(bytes);
  size_t done = 0;
  std::error_code error;
  while (done < bytes) {
    llvm::Expected<size_t> some = llvm::sys::fs::readNativeFile(
        *file, llvm::MutableArrayRef<char>(&text[done], bytes - done));
    if (!some)
      error = llvm::errorToErrorCode(some.takeError());
    if (error || *some == 0)
      break;
    done += *some;
  }
  text.resize(done);
  llvm::sys::fs::closeFile(*file);
  return error;
}

Result<Spec> hone::readSpec(const std::string &path,
                            llvm::ArrayRef<SpecOverride> overrides) {
  if (llvm::sys::fs::is_directory(path)) {
    // A model's path is from its spec's folder, which would be the model's.
    llvm::SmallString<128> absolute(path);
    if (std::error_code error = llvm::sys::fs::make_absolute(absolute))
      return Status(ErrorCode::CannotRead, path,
                    "cannot be found: " + error.message(),
                    "give the model's absolute path");
    std::string model = rt::jsonString(absolute.str()); // which YAML reads
    return parseSpec("model: " + model + "\n", path, overrides);
  }
  std::string text;
  if (std::error_code error = readBeginning(path, mostSpecBytes + 1, text))
    return Status(
        ErrorCode::CannotRead, path,
        "expected a spec file but it cannot be read: " + error.message(),
        "honec's first argument is a YAML file; see honec --help-spec");
  return parseSpec(text, path, overrides);
}

//===----------------------------------------------------------------------===//
// The table, for the binary
//===----------------------------------------------------------------------===//

std::string hone::specSectionJson(const Spec &spec, StringRef section) {
  std::string out = "{";
  for (const rt::Setting *setting : spec.all()) {
    if (setting->section != section)
      continue;
    out += out.size() > 1 ? "," : "";
    out += rt::jsonString(setting->name) + ":";
    setting->appendJson(out);
  }
  return out + "}";
}
