# equal.sh - what two runs with the same bits have in common; to be sourced.

# losses LOG: its lines without what differs between runs.
losses() {
  sed -E 's/"(run|tokens_per_second|peak_[a-z]+_bytes)": [^,}]*[,}]//g' "$1"
}

# digest_of RUN: every file of its adapters, and loss by loss the log RUN.jsonl.
digest_of() {
  sha256sum <"$1/adapter_model.safetensors"
  [ ! -d "$1/best" ] || sha256sum <"$1/best/adapter_model.safetensors"
  sha256sum <"$1/adapter_config.json"
  losses "$1.jsonl" | sha256sum
}
