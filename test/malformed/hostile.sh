#!/usr/bin/env bash
# hostile.sh DIR SPEC: model folders that were made to take memory or time.
#
# Each is refused with at most 128 MiB more than a sound model takes and within
# seconds, with any sizes that it claims.
source "$(dirname "$0")/cases.sh"
spec=$2
cd "$1" || exit 1
kept=built
rm -rf built && cp -r wide built

compile=(honec "$spec" --set train.residuals=mesp --set)

# bounded MIB COMMAND...: the command; 99 when it took more memory than MIB or
# more than 20 seconds of processor time. Prints the memory that it took.
bounded() {
  python3 - "$@" <<'PY'
import resource, subprocess, sys
def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
most, command = int(sys.argv[1]), sys.argv[2:]
code = subprocess.run(command, preexec_fn=limit).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
print(peak)
if code < 0 or peak > most:
    print(f"took {peak} of {most} MiB, exit {code}", file=sys.stderr)
    code = 99
sys.exit(code)
PY
}
most=$(($(bounded 1000 "${compile[@]}" model=model --print-plan | tail -n 1) + 128))

# bad NAME CODE PLACE FINDING: with the model in bad/, made by the line before.
bad() {
  refuses "$1" "$2" "bad/$3" "$4" \
    bounded "$most" "${compile[@]}" model=bad -o built
}
again() { rm -rf bad && cp -r model bad; }
tokenizer() { again && edit bad/tokenizer.json "$1"; }
config() { again && edit bad/config.json "$1"; }
many='[0] * (8 << 20)' # 16 MB of text once the spaces are gone

tokenizer "j['model']['vocab'] = $many"
bad 'a vocabulary of zeros' H0501 tokenizer.json: 'found an array'
tokenizer "j['model']['merges'] = $many"
bad 'merges of zeros' H0501 tokenizer.json: 'expected a merge'
tokenizer "j['model']['setting'] = $many"
bad 'a setting of zeros' H0501 tokenizer.json: 'at most [0-9]+ values'
tokenizer "j['normalizer'] = $many"
bad 'a normalizer of zeros' H0501 tokenizer.json: 'at most [0-9]+ values'
tokenizer "j['unknown'] = $many; j['model']['type'] = 'none'"
bad 'zeros that nobody asks for' H0502 tokenizer.json: '"none" is not supported'
tokenizer "j['model']['vocab']['far'] = 2**24 - 1"
bad 'an id that sizes a table' H0501 tokenizer.json: 'an id from 0 to [0-9]{5} but'
config "j['unknown'] = $many"
bad 'a configuration of zeros' H1004 config.json: 'at most [0-9]+ values'
config "j['head_dim'] = 2**30; j['num_attention_heads'] = 1; \
j['num_key_value_heads'] = 1"
bad 'a head of 2^30' H0304 config.json: '/head_dim: expected a head size of at most'
config "j['num_hidden_layers'] = 2**20"
bad 'a million layers' H0302 config.json: 'at most 10000 layers'
config "j['num_hidden_layers'] = 9999"
bad 'layers that the weights do not have' H0406 model.safetensors: 'no file has it'

again && rm bad/model.safetensors && python3 - <<'PY'
import json, struct
names = [f"t{i:06}" for i in range(400000)]
header = json.dumps({n: {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
                     for n in names}).encode()
with open("bad/x.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header)
with open("bad/model.safetensors.index.json", "w") as file:
    json.dump({"weight_map": {n: "x.safetensors" for n in names}}, file)
PY
bad '400,000 tensors' H0406 model.safetensors.index.json: 'no file has it'
finish
