#!/usr/bin/env bash
# weights.sh DIR: malformed weights.hone.safetensors.
source "$(dirname "$0")/cases.sh"
cd "$1" || exit 1
kept=kept
name=model.embed_tokens.weight

# bad NAME CODE PLACE FINDING: with weights.bad, made by the line before.
bad() {
  refuses "$1" "$2" "weights.bad$3" "$4" \
    wide/train --weights weights.bad --data data.jsonl --output kept
}
again() { cp wide/weights.hone.safetensors weights.bad; }

: >weights.bad
bad 'an empty file' H0403 '' 'byte 0|8 bytes|empty'
again && truncate -s -1 weights.bad
bad 'one byte short' H0403 '' 'bytes|end'
again && echo >>weights.bad
bad 'one byte too many' H0403 '' 'bytes|end'
again && truncate -s 100 weights.bad
bad 'half a header' H0403 '' 'header|bytes'
again && printf '\377\377\377\377\377\377\377\177' |
  dd of=weights.bad conv=notrunc status=none
bad 'a header of 2^63 bytes' H0403 '' 'header|bytes'
again && tensors weights.bad 'h["__metadata__"]["format"] = "pt"'
bad 'another format' H0410 ': __metadata__.format' "expects 'hone' but got 'pt'"
again && tensors weights.bad 'h["__metadata__"]["layout"] = "rows-v0"'
bad 'another layout' H0410 ': __metadata__.layout' "but got 'rows-v0'"
cp narrow/weights.hone.safetensors weights.bad
bad 'the weights of another model' H0410 ': __metadata__.source_hash' 'expects'
again && tensors weights.bad 'del h["__metadata__"]["source_hash"]'
bad 'no source hash' H0410 ': __metadata__.source_hash' 'but got nothing'
again && tensors weights.bad "h['other'] = h.pop('$name')"
bad 'a tensor of another name' H0410 ": tensor '$name'" 'but got none'
again && tensors weights.bad "h['$name']['dtype'] = 'I32'"
bad 'a tensor of another type' H0410 ": tensor '$name'" 'expects F32 .* but got I32'
again && tensors weights.bad "h['$name']['shape'].reverse()"
bad 'a tensor of another shape' H0410 ": tensor '$name'" 'expects F32 .* but got F32'
again && tensors weights.bad "h['$name']['dtype'] = 'F33'"
bad 'a type that is none' H0403 ': byte [0-9]+' "$name.*F33"
again && tensors weights.bad "h['$name']['data_offsets'][1] += 4"
bad 'tensors that overlap' H0403 '' 'overlap|expected|offsets'
again && tensors weights.bad "h['$name']['shape'] = [2**62, 2**62]"
bad 'a shape that overflows' H0403 ": tensor \"$name\"" 'below 2\^61'
again && tensors weights.bad 'b[h["hone.tokenizer"]["data_offsets"][0]] ^= 1'
bad 'a tokenizer that is no table' H0505 ": tensor 'hone.tokenizer'" 'expected'
# Damage that no check of a header can see: one bit of the numbers, of the
# tokenizer.
again && flip weights.bad -5
bad 'a bit of the last tensor' H0411 ': bytes 0 to [0-9]+' 'that honec wrote'
again && flip weights.bad $(($(stat -c %s weights.bad) / 2))
bad 'a bit in the middle' H0411 ': bytes 0 to [0-9]+' '--no-verify trains with it'
refused=$((refused + 1)) name='a bit of the numbers with --no-verify'
message=$(wide/train --weights weights.bad --data data.jsonl --output unsafe \
  --steps 1 --no-verify 2>&1) || complain 'expected it to train'
grep -q 'verified     no, because of --no-verify' <<<"$message" ||
  complain 'expected to be told what is given up'
finish
