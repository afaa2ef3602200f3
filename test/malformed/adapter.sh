#!/usr/bin/env bash
# adapter.sh DIR: malformed --adapter folders.
source "$(dirname "$0")/cases.sh"
cd "$1" || exit 1
kept=kept
prefix=base_model.model.model.layers.0.self_attn.q_proj

# bad NAME CODE PLACE FINDING: with adapter/, made by the line before.
bad() {
  refuses "$1" "$2" "adapter/$3" "$4" \
    wide/train --adapter adapter --data data.jsonl --output fresh --steps 1
  [ ! -e fresh/adapter_config.json ] || complain 'wrote an adapter'
  rm -rf fresh
}
again() {
  rm -rf adapter && mkdir adapter && cp kept/adapter_* adapter
}
config() { again && edit adapter/adapter_config.json "$1"; }
model() { again && tensors adapter/adapter_model.safetensors "$1"; }

again && rm adapter/adapter_config.json
bad 'no configuration' H1001 adapter_config.json 'No such file'
again && rm adapter/adapter_model.safetensors
bad 'no tensors' H1001 adapter_model.safetensors 'No such file'
again && echo '{' >adapter/adapter_config.json
bad 'half a configuration' H1004 adapter_config.json:2 'expected'
config 'del j["peft_type"]'
bad 'no peft_type' H0701 adapter_config.json 'peft_type'
config 'j["peft_type"] = "IA3"'
bad 'another method' H0701 adapter_config.json 'expected "LORA".* found "IA3"'
config 'j["r"] = 5'
bad 'another rank' H0702 adapter_config.json 'expected r = 4, found 5'
config 'j["r"] = -4'
bad 'a negative rank' H0701 adapter_config.json 'integer from 1 .* found -4'
config 'j["r"] = "4"'
bad 'a string for a rank' H0701 adapter_config.json 'integer from 1 .* found "4"'
config 'j["lora_alpha"] = 9'
bad 'another alpha' H0702 adapter_config.json 'expected lora_alpha = 8, found 9'
config 'j["use_rslora"] = True'
bad 'another scale' H0702 adapter_config.json 'use_rslora = false, found true'
config 'j["lora_dropout"] = 0.05'
bad 'dropout' H0702 adapter_config.json 'lora_dropout = 0, .* found 0.05'
config 'j["use_dora"] = True'
bad 'DoRA' H0702 adapter_config.json 'use_dora = false, found true'
config 'j["bias"] = "all"'
bad 'trained biases' H0702 adapter_config.json 'bias = none, found all'
config 'j["bias"] = "some"'
bad 'a word for biases' H0701 adapter_config.json '"all" or "lora_only" for "bias"'
config 'j["init_lora_weights"] = "pissa"'
bad 'changed base weights' H0701 adapter_config.json 'init_lora_weights.* "pissa"'
config 'j["some_new_setting"] = 1'
bad 'an unknown setting' H0701 adapter_config.json 'some_new_setting'
again && truncate -s -8 adapter/adapter_model.safetensors
bad 'a short tensor file' H0403 adapter_model.safetensors 'bytes|end'
model 'h["__metadata__"] = {"x": "x" * (1 << 20)}'
bad 'a header beyond its tensors' H0403 'adapter_model.safetensors: byte 0' \
  'at most 1048576 bytes, which is more than its tensors need, found 10[0-9]+'
model 'h["__metadata__"] = {str(i): "" for i in range(70000)}'
bad 'metadata of many entries' H0403 'adapter_model.safetensors: byte [0-9]+' \
  'at most 10485 metadata entries'
config 'j["target_modules"] = ["v_proj"]'
bad 'targets without a tensor' H0701 adapter_config.json \
  'target_modules that give .*q_proj" .* found \[v_proj\]'
config 'j["layers_to_transform"] = [1]'
bad 'layers without a tensor' H0701 adapter_config.json \
  'layers_to_transform that give "model.layers.0.* found \[1\]'
again && echo pickle >adapter/adapter_model.safetensors
bad 'no safetensors' H0403 adapter_model.safetensors 'bytes|header'
model "h['$prefix.lora_C.weight'] = h.pop('$prefix.lora_A.weight')"
bad 'a tensor that is missing' H0702 "adapter_model.safetensors: tensor $prefix" \
  'found no such tensor'
model "h['$prefix.lora_A.weight']['shape'].reverse()"
bad 'a tensor of another shape' H0702 "adapter_model.safetensors: tensor $prefix" \
  'expected shape \[4, 48\], found \[48, 4\]'
model "h['$prefix.lora_A.weight']['dtype'] = 'I32'"
bad 'a tensor of another type' H0702 "adapter_model.safetensors: tensor $prefix" \
  'found I32'
model "h['$prefix.lora_A.bias'] = {'dtype': 'F32', 'shape': [0],
  'data_offsets': [len(b), len(b)]}"
bad 'a tensor too many' H0702 adapter_model.safetensors 'lora_A.bias" too'
# Training finds this in its first step; an evaluation has no other end.
model "b[:4] = b'\\0\\0\\xc0\\x7f'"
refuses 'no number, in training' H0809 'step 1' 'expects a finite loss' \
  wide/train --adapter adapter --data data.jsonl --output fresh --steps 1
refuses 'no number, in an evaluation' H0809 data.jsonl \
  'expects a finite loss but got NaN' \
  wide/train --adapter adapter --eval-only --eval-data data.jsonl

refuses 'no folder' H1001 'none/adapter_config.json' 'No such file' \
  wide/train --adapter none --data data.jsonl --output fresh
rm -rf fresh
finish
