#!/usr/bin/env bash
# relay-dies.sh
#
# The count of relays' cuts is an error if one has died, and waits for none.
set -euo pipefail

folder=$(mktemp -d) seed=1
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
. "$(dirname "$0")/programs.sh"
. "$here/over-grpc.sh"

work=$folder/whole
mkdir "$work"
start_engine
echo "$(cuts) cuts of relays that carried nothing"
wait "${relays[@]}" || true

work=$folder/dies relay=() relays=()
mkdir "$work"
start_engine
kill -KILL "${relays[0]}"
wait "${relays[0]}" 2>/dev/null || true
if found=$(cuts); then
  echo "relay-dies: $found cuts, though a relay has died" >&2
  exit 1
fi
