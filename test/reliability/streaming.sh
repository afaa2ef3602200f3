#!/usr/bin/env bash
# streaming.sh PLAIN STREAMED DATA LIMIT
#
# PLAIN and STREAMED are the same training program without and with
# weights.streaming. They must write the same adapter, and STREAMED must have
# at most LIMIT bytes of mapped files resident at its peak, PLAIN more.
set -euo pipefail

data=$3 limit=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# mapped TRAIN NAME: trains, prints bytes resident beside anonymous memory.
mapped() {
  "$1" --data "$data" --output "$work/$2" --steps 3 --threads 1 \
    --log "$work/$2.jsonl" >"$work/out" 2>&1 || {
    cat "$work/out" >&2
    exit 1
  }
  python3 - "$work/$2.jsonl" <<'PY'
import json, sys
last = json.loads(open(sys.argv[1]).readlines()[-1])
print(last["peak_resident_bytes"] - last["peak_anonymous_bytes"])
PY
}

plain=$(mapped "$1" plain)
streamed=$(mapped "$2" streamed)
cmp "$work"/{plain,streamed}/adapter_model.safetensors || {
  echo "streaming: the adapter differs" >&2
  exit 1
}
line="streaming: $streamed bytes of mapped files resident, $plain without"
((streamed <= limit && plain > limit)) || {
  echo "$line: expects a limit of $limit between them" >&2
  exit 1
}
echo "$line"
