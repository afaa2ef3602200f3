#!/usr/bin/env bash
# tokenizer.sh DIR SPEC: malformed tokenizers in a model's folder; honec reads
# them, and its output folder must stay as it was.
source "$(dirname "$0")/cases.sh"
spec=$2
cd "$1" || exit 1
kept=built
rm -rf built && cp -r wide built

# bad NAME CODE PLACE FINDING: with the model in bad/, made by the line before.
bad() {
  refuses "$1" "$2" "bad/$3" "$4" honec "$spec" --set model=bad -o built
}
again() { rm -rf bad && cp -r model bad; }
tokenizer() { again && edit bad/tokenizer.json "$1"; }
# pair VOCAB MERGES: these two files instead of tokenizer.json.
pair() {
  again && rm bad/tokenizer.json bad/tokenizer_config.json
  printf '%s' "$1" >bad/vocab.json
  printf '%s' "$2" >bad/merges.txt
}

again && : >bad/tokenizer.json
bad 'an empty file' H0501 tokenizer.json 'expected'
again && truncate -s 500 bad/tokenizer.json
bad 'half a file' H0501 tokenizer.json: 'expected'
again && printf '{"model": "\xff"}' >bad/tokenizer.json
bad 'not UTF-8' H0501 tokenizer.json: 'UTF-8'
again && echo '[]' >bad/tokenizer.json
bad 'an array' H0501 tokenizer.json 'expected an object'
tokenizer 'del j["model"]'
bad 'no model' H0501 tokenizer.json 'expected the object "model"'
tokenizer 'j["model"]["type"] = "WordPiece"'
bad 'another algorithm' H0502 tokenizer.json: '"WordPiece" is not supported'
tokenizer 'j["model"]["vocab"] = []'
bad 'a vocabulary that is an array' H0501 tokenizer.json: 'object of token ids'
tokenizer 'j["model"]["vocab"]["zz"] = "257"'
bad 'a string for an id' H0501 tokenizer.json: 'integer id for "zz" but found'
tokenizer 'j["model"]["vocab"]["zz"] = -1'
bad 'a negative id' H0501 tokenizer.json: 'an id from 0 to .* but found -1'
tokenizer 'j["model"]["vocab"]["zz"] = 2**40'
bad 'an id that would fill the memory' H0501 tokenizer.json: 'found 1099511627776'
tokenizer 'j["model"]["vocab"]["zz"] = 5'
bad 'two tokens of one id' H0501 tokenizer.json: 'the id 5 is given to two tokens'
tokenizer 'j["model"]["vocab"]["zz"] = 300'
bad 'an id beyond the model' H0504 tokenizer.json 'below vocab_size, 300'
tokenizer 'j["model"]["merges"] = ["a"]'
bad 'half a merge' H0501 tokenizer.json: 'expected a merge'
tokenizer 'j["model"]["merges"] = ["a b"]'
bad 'a merge of unknown result' H0501 tokenizer.json: 'needs the token "ab"'
tokenizer 'j["model"]["merges"] = {"a": "b"}'
bad 'merges that are an object' H0501 tokenizer.json: 'merges as an array'
tokenizer 'j["model"]["dropout"] = 0.1'
bad 'dropout' H0502 tokenizer.json: '"dropout" is not supported'
tokenizer 'j["normalizer"] = {"type": "Lowercase"}'
bad 'another normalizer' H0502 tokenizer.json: '"Lowercase"'
tokenizer 'j["pre_tokenizer"] = {"type": "Whitespace"}'
bad 'another pre-tokenizer' H0502 tokenizer.json: 'Whitespace'
tokenizer 'j["pre_tokenizer"] = None'
bad 'no pre-tokenizer' H0502 tokenizer.json 'ByteLevel'
tokenizer 'j["post_processor"] = {"type": "BertProcessing"}'
bad 'another post-processor' H0502 tokenizer.json: 'BertProcessing'
tokenizer 'ids = {"id": "<|endoftext|>", "ids": [256], "tokens": ["<|endoftext|>"]}
j["post_processor"] = {"type": "TemplateProcessing", "pair": [], "special_tokens": {"<|endoftext|>": ids},
  "single": [{"SpecialToken": {"id": "<|endoftext|>"}}] * 64 + [{"Sequence": {"id": "A"}}]}'
bad 'a long template' H0502 tokenizer.json: 'fewer than 64 tokens before the text'
tokenizer 'j["added_tokens"].append({"id": 257, "content": "a" * 1025})'
bad 'a long added token' H0502 tokenizer.json: '"aaaa.* is longer than 1024 bytes'
tokenizer 'j["added_tokens"][0]["id"] = 7'
bad 'an added token on a used id' H0501 tokenizer.json: 'id 7|has the id 7'
tokenizer 'j["added_tokens"] = [{"id": 257}]'
bad 'an added token without a name' H0501 tokenizer.json: '"content"'
again && edit bad/tokenizer_config.json 'j["eos_token"] = "<none>"'
bad 'an unknown eos token' H0501 tokenizer_config.json: 'not a token of this'

pair '{"a": 0}' '' && rm bad/merges.txt
bad 'no merges.txt' H0503 merges.txt 'is missing'
pair '{"a": 0' ''
bad 'half a vocab.json' H0501 vocab.json: 'expected'
pair '{"a": 0, "b": 0}' ''
bad 'two names of one id in vocab.json' H0501 vocab.json: 'given to two tokens'
pair '{"a": 0, "b": 1, "ab": 2}' $'#version: 0.2\na b\nab\n'
bad 'a line without a space in merges.txt' H0501 merges.txt:3 'a space between'
pair '{"a": 0, "b": 1, "ab": 2}' $'#version: 0.2\nb a\n'
bad 'a merge of unknown result in merges.txt' H0501 merges.txt:2 'the token "ba"'
finish
