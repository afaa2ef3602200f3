//===- ByteTokenizer.cpp - The smallest byte-level tokenizer --------------===//
//
// Byte-level vocabularies spell a byte as a printable character: itself where
// it is one, else the next of U+0100, U+0101, ... (GPT-2's bytes_to_unicode).
//
//===----------------------------------------------------------------------===//

#include "compiler/hone-make-model/ByteTokenizer.h"
#include "base/Json.h"
#include "base/OutputFile.h"
#include "base/Utf8.h"

using namespace hone;

static bool isPrintable(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) ||
         byte >= 174;
}

Status hone::writeByteTokenizer(const std::string &directory) {
  std::string vocabulary;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string spelled;
    rt::appendUtf8(spelled, isPrintable(byte) ? byte : next++);
    vocabulary += byte ? ", " : "";
    vocabulary += rt::jsonString(spelled) + ": " + std::to_string(byte);
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
  HONE_TRY(rt::writeFile(directory + "/tokenizer.json", text));
  return rt::writeFile(
      directory + "/tokenizer_config.json",
      "{\n  \"eos_token\": \"<|endoftext|>\",\n"
      "  \"tokenizer_class\": \"PreTrainedTokenizerFast\"\n}\n");
}
