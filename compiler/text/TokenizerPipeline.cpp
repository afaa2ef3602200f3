//===- TokenizerPipeline.cpp - The stages around BPE in tokenizer.json ----===//
//
// Regular expressions are compared as strings. Two spellings of one language
// are two entries in the list below, each checked by hand.
//
//===----------------------------------------------------------------------===//

#include "compiler/text/TokenizerPipeline.h"
#include "compiler/text/TokenizerFolder.h"

#include <algorithm>
#include <initializer_list>

using namespace hone::rt;

namespace hone {

static constexpr std::string_view Metaspace = "\xE2\x96\x81";

namespace {
struct KnownPattern {
  std::string_view pattern;
  PreTokenizerKind kind;
};
} // namespace

// Possessive quantifiers change nothing where the next class is disjoint, and
// \s*[\r\n] takes as much as \s*[\r\n]+ because \s includes line ends.
static constexpr KnownPattern KnownPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     PreTokenizerKind::Gpt2},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     PreTokenizerKind::Gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PreTokenizerKind::Qwen2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PreTokenizerKind::Llama3},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     PreTokenizerKind::Llama3},
};

Status unsupportedTokenizer(const std::string &path, const Json *where,
                            const std::string &problem) {
  return Status(
      ErrorCode::UnsupportedTokenizer,
      where == nullptr ? path : placeOf(path, *where), problem,
      "use a model with a byte-level BPE tokenizer (GPT-2, Qwen2, Llama 3, "
      "SmolLM2) or a byte-fallback BPE one (Llama 2, Gemma), or tokenise the "
      "data "
      "yourself and train on JSONL lines with \"input_ids\"");
}

static std::string typeOf(const Json &stage) {
  const Json *type = stage.find("type");
  return type != nullptr && type->isString() ? type->string() : std::string();
}

/// Whether `stage` has all of `required` and nothing beside those, `optional`
/// and its type: the library takes a stage for another type whose fields it
/// has.
static bool hasFields(const Json &stage,
                      std::initializer_list<std::string_view> required,
                      std::initializer_list<std::string_view> optional = {}) {
  static constexpr std::string_view Truths[] = {
      "add_prefix_space", "trim_offsets",      "use_regex",
      "invert",           "individual_digits", "split"};
  const auto isIn = [](const auto &list, std::string_view key) {
    return std::find(std::begin(list), std::end(list), key) != std::end(list);
  };
  size_t found = 0;
  for (const auto &[key, value] : stage.object()) {
    found += isIn(required, key);
    if ((key != "type" && !isIn(required, key) && !isIn(optional, key)) ||
        (isIn(Truths, key) && !value.isBool()))
      return false;
  }
  return found == required.size();
}

static bool isByteLevel(const Json &stage) {
  return typeOf(stage) == "ByteLevel" &&
         hasFields(stage, {"add_prefix_space", "trim_offsets"}, {"use_regex"});
}

static Status readNormalizer(const Json &stage, const std::string &path,
                             TokenizerDefinition &out) {
  const std::string type = typeOf(stage);
  if (stage.isNull())
    return Status::ok();
  if (type == "NFC" && hasFields(stage, {})) {
    out.nfc = true;
    return Status::ok();
  }
  // A second one would put a second space in front.
  if (type == "Prepend" && hasFields(stage, {"prepend"}) && !out.prependSpace &&
      stage.has("prepend", Metaspace)) {
    out.prependSpace = true;
    return Status::ok();
  }
  if (type == "Replace" && hasFields(stage, {"pattern", "content"})) {
    const Json *pattern = stage.find("pattern");
    if (pattern != nullptr && pattern->has("String", " ") &&
        stage.has("content", Metaspace)) {
      out.metaspace = out.replacesSpaces = true;
      return Status::ok();
    }
  }
  const Json *parts = stage.find("normalizers");
  if (type == "Sequence" && hasFields(stage, {"normalizers"}) &&
      parts->isArray()) {
    for (const Json &part : parts->array()) {
      if (typeOf(part) == "Sequence")
        return unsupportedTokenizer(path, &part,
                                    "the normalizer nests two Sequences");
      HONE_TRY(readNormalizer(part, path, out));
    }
    return Status::ok();
  }
  return unsupportedTokenizer(
      path, &stage,
      "the normalizer \"" + type +
          "\" with these settings is not supported; expected NFC, or Prepend "
          "and Replace of a space by U+2581");
}

static Status readByteLevel(const Json &stage, const std::string &path,
                            PreTokenizerKind withRegex, bool mayPrefix,
                            TokenizerDefinition &out) {
  out.prefixSpace = stage.flag("add_prefix_space", true);
  if (out.prefixSpace && !mayPrefix)
    return unsupportedTokenizer(
        path, &stage,
        "ByteLevel with add_prefix_space after another pre-tokenizer is not "
        "supported");
  if (stage.flag("use_regex", true))
    out.preTokenizer = withRegex;
  return Status::ok();
}

/// [Split by a known pattern, ByteLevel] or [Digits, ByteLevel].
static Status readSequence(const Json &stage, const std::string &path,
                           TokenizerDefinition &out) {
  const Json *parts = stage.find("pretokenizers");
  if (!hasFields(stage, {"pretokenizers"}) || !parts->isArray() ||
      parts->array().size() != 2 || !isByteLevel(parts->array()[1]))
    return unsupportedTokenizer(
        path, &stage,
        "the pre-tokenizer is a Sequence other than Split or Digits followed "
        "by ByteLevel");
  const Json &first = parts->array()[0], &second = parts->array()[1];
  const bool usesRegex = second.flag("use_regex", true);
  if (typeOf(first) == "Digits" && hasFields(first, {"individual_digits"}) &&
      first.flag("individual_digits", false) && usesRegex)
    return readByteLevel(second, path, PreTokenizerKind::Gpt2Digits,
                         /*mayPrefix=*/false, out);
  const Json *pattern = first.find("pattern");
  const Json *regex = pattern == nullptr ? nullptr : pattern->find("Regex");
  if (typeOf(first) != "Split" ||
      !hasFields(first, {"pattern", "behavior", "invert"}) ||
      regex == nullptr || !regex->isString() ||
      !first.has("behavior", "Isolated") || first.flag("invert", false) ||
      usesRegex)
    return unsupportedTokenizer(
        path, &first,
        "the pre-tokenizer \"" + typeOf(first) +
            "\" with these settings is not supported; expected Split by a "
            "Regex with the behavior Isolated, then ByteLevel without regex");
  for (const KnownPattern &known : KnownPatterns) {
    if (regex->string() != known.pattern)
      continue;
    out.preTokenizer = known.kind;
    return readByteLevel(second, path, known.kind, /*mayPrefix=*/false, out);
  }
  return unsupportedTokenizer(path, regex,
                              "the pre-tokenizer's regular expression is not "
                              "one of GPT-2, Qwen2 or Llama 3: " +
                                  regex->string());
}

/// Metaspace that does not split is Prepend and Replace in another place.
static bool readMetaspace(const Json &stage, TokenizerDefinition &out) {
  if (!stage.has("replacement", Metaspace) ||
      !hasFields(stage, {"replacement"},
                 {"add_prefix_space", "prepend_scheme", "split", "str_rep"}) ||
      stage.flag("split", true) || out.metaspace || out.prependSpace)
    return false;
  out.metaspace = true;
  out.prefixSpace = stage.find("prepend_scheme") == nullptr
                        ? stage.flag("add_prefix_space", true)
                        : !stage.has("prepend_scheme", "never");
  out.prefixOnce = stage.has("prepend_scheme", "first");
  return true;
}

/// A Split at the spaces that the normalizer left none of (Gemma).
static bool cutsNothing(const Json &stage, const TokenizerDefinition &out) {
  const Json *pattern = stage.find("pattern");
  return out.replacesSpaces && typeOf(stage) == "Split" &&
         hasFields(stage, {"pattern", "behavior", "invert"}) &&
         pattern->has("String", " ") && !stage.flag("invert", false);
}

static Status readPreTokenizer(const Json &stage, const std::string &path,
                               TokenizerDefinition &out,
                               PipelineStages &stages) {
  const std::string type = typeOf(stage);
  if (stage.isNull() || (type == "Metaspace" && readMetaspace(stage, out)) ||
      cutsNothing(stage, out))
    return Status::ok();
  stages.byteLevel = true;
  if (isByteLevel(stage))
    return readByteLevel(stage, path, PreTokenizerKind::Gpt2,
                         /*mayPrefix=*/true, out);
  if (type == "Sequence")
    return readSequence(stage, path, out);
  return unsupportedTokenizer(
      path, &stage,
      "the pre-tokenizer \"" + type +
          "\" with these settings is not supported; expected ByteLevel, Split "
          "and ByteLevel, Digits and ByteLevel, Metaspace without split, or "
          "Split at the space that a normalizer replaces");
}

static Status readTemplate(const Json &stage, const std::string &path,
                           TokenizerDefinition &out) {
  const auto broken = [&](const Json &where) {
    return unsupportedTokenizer(
        path, &where,
        "expected TemplateProcessing with \"single\" made of special tokens "
        "and one Sequence A");
  };
  const Json *single = stage.find("single");
  const Json *specials = stage.find("special_tokens");
  if (!hasFields(stage, {"single", "special_tokens"}, {"pair"}) ||
      !single->isArray())
    return broken(stage);
  bool seenText = false;
  for (const Json &item : single->array()) {
    if (const Json *text = item.find("Sequence")) {
      if (seenText || !text->has("id", "A"))
        return broken(item);
      seenText = true;
      continue;
    }
    const Json *special = item.find("SpecialToken");
    const Json *name = special == nullptr ? nullptr : special->find("id");
    const Json *entry = name == nullptr || !name->isString()
                            ? nullptr
                            : specials->find(name->string());
    const Json *ids = entry == nullptr ? nullptr : entry->find("ids");
    if (ids == nullptr || !ids->isArray())
      return broken(item);
    for (const Json &id : ids->array()) {
      if (!id.isInteger() || id.integer() < 0 ||
          id.integer() >= int64_t(out.tokens.size()))
        return broken(id);
      (seenText ? out.after : out.before).push_back(uint32_t(id.integer()));
    }
  }
  if (std::max(out.before.size(), out.after.size()) + 1 >
      TokenizerTable::LongestTemplate) // tokenizer_config.json may add one
    return unsupportedTokenizer(
        path, &stage,
        "expected a template with fewer than " +
            std::to_string(TokenizerTable::LongestTemplate) +
            " tokens before the text, and after it");
  return seenText ? Status::ok() : broken(stage);
}

static Status readPostProcessor(const Json &stage, const std::string &path,
                                TokenizerDefinition &out) {
  const std::string type = typeOf(stage);
  // ByteLevel here only moves offsets, which nothing in Hone uses.
  if (stage.isNull() || isByteLevel(stage))
    return Status::ok();
  if (type == "TemplateProcessing")
    return readTemplate(stage, path, out);
  const Json *parts = stage.find("processors");
  if (type != "Sequence" || !hasFields(stage, {"processors"}) ||
      !parts->isArray())
    return unsupportedTokenizer(path, &stage,
                                "the post-processor \"" + type +
                                    "\" is not supported; expected "
                                    "TemplateProcessing or ByteLevel");
  bool seenTemplate = false;
  for (const Json &part : parts->array()) {
    const bool isTemplate = typeOf(part) == "TemplateProcessing";
    if (typeOf(part) == "Sequence" || (isTemplate && seenTemplate))
      return unsupportedTokenizer(
          path, &part, "the post-processor has more than one template");
    seenTemplate |= isTemplate;
    HONE_TRY(readPostProcessor(part, path, out));
  }
  return Status::ok();
}

Status readPipeline(const Json &root, const std::string &path,
                    TokenizerDefinition &out, PipelineStages &stages) {
  static const Json absent;
  const auto stage = [&](const char *key) -> const Json & {
    const Json *found = root.find(key);
    return found == nullptr ? absent : *found;
  };
  HONE_TRY(readNormalizer(stage("normalizer"), path, out));
  HONE_TRY(readPreTokenizer(stage("pre_tokenizer"), path, out, stages));
  if (stages.byteLevel ? out.metaspace || out.prependSpace
                       : out.nfc || out.prependSpace > out.metaspace)
    return unsupportedTokenizer(
        path, root.find("normalizer"),
        "this normalizer does not go with this pre-tokenizer; expected NFC "
        "or none with ByteLevel, and Prepend and Replace without it");
  return readPostProcessor(stage("post_processor"), path, out);
}

} // namespace hone
