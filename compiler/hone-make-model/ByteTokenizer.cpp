//===- ByteTokenizer.cpp - The smallest byte-level tokenizer --------------===//
//
// Byte-level vocabularies spell a byte as a printable character: itself where
// it is one, else the next of U+0100, U+0101, ... (GPT-2's bytes_to_unicode).
//
//===----------------------------------------------------------------------===//

#include "compiler/hone-make-model/ByteTokenizer.h"
#include "base/Json.h"
#include "base/OutputFile.h"

using namespace hone;
using rt::Result;
using rt::Status;

static bool isPrintable(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) ||
         byte >= 174;
}

/// `codePoint` is below U+0800.
static std::string utf8(unsigned codePoint) {
  if (codePoint < 0x80)
    return std::string(1, static_cast<char>(codePoint));
  return {static_cast<char>(0xC0 | codePoint >> 6),
          static_cast<char>(0x80 | (codePoint & 0x3F))};
}

static Status writeText(const std::string &path, const std::string &text) {
  HONE_ASSIGN(rt::OutputFile file, rt::OutputFile::create(path));
  Status status = file.write(text);
  return status.isOk() ? file.commit() : status;
}

Status hone::writeByteTokenizer(const std::string &directory) {
  std::string vocabulary;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocabulary += byte ? ", " : "";
    rt::appendJsonString(vocabulary, utf8(isPrintable(byte) ? byte : next++));
    vocabulary += ": " + std::to_string(byte);
  }
  std::string text =
      "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n"
      "  \"padding\": null,\n  \"added_tokens\": [{\"id\": 256, \"content\": "
      "\"<|endoftext|>\", \"single_word\": false, \"lstrip\": false, "
      "\"rstrip\": false, \"normalized\": false, \"special\": true}],\n"
      "  \"normalizer\": null,\n"
      "  \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": "
      "false, \"trim_offsets\": true, \"use_regex\": true},\n"
      "  \"post_processor\": null,\n"
      "  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
      "\"trim_offsets\": true, \"use_regex\": true},\n"
      "  \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": "
      "null, \"continuing_subword_prefix\": null, \"end_of_word_suffix\": "
      "null, \"fuse_unk\": false, \"byte_fallback\": false, "
      "\"ignore_merges\": false,\n    \"vocab\": {" +
      vocabulary + ", \"<|endoftext|>\": 256},\n    \"merges\": []}\n}\n";
  HONE_TRY(writeText(directory + "/tokenizer.json", text));
  return writeText(directory + "/tokenizer_config.json",
                   "{\n  \"eos_token\": \"<|endoftext|>\",\n"
                   "  \"tokenizer_class\": \"PreTrainedTokenizerFast\"\n}\n");
}
