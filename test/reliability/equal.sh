# equal.sh - the common output of two runs with the same bits; to be sourced.

# Where there is nothing, each says so with its name: two of them are not equal.

# losses LOG: its lines without the keys that differ between runs.
losses() {
  [[ -s $1 ]] || echo "no lines: $1"
  sed -E 's/ *"(run|tokens_per_second|peak_[a-z]+_bytes|offloaded_bytes)": [^,}]*[,}]//g' "$1"
}

# result_of RUN: the digest of every file of its adapters, or of its models.
result_of() {
  [ ! -d "$1/best" ] || result_of "$1/best"
  if [[ -f $1/adapter_model.safetensors ]]; then
    sha256sum <"$1/adapter_model.safetensors"
    sha256sum <"$1/adapter_config.json"
  else
    (cd "$1" && sha256sum ./*model*.safetensors ./*.json) || echo "no result: $1"
  fi
}

# digest_of RUN: of its result, and loss by loss of the log RUN.jsonl.
digest_of() {
  result_of "$1"
  losses "$1.jsonl" | sha256sum
}
