#!/usr/bin/env bash
# addresses.sh MODEL.mlir WEIGHTS DATA
#
# Two programs that meet over gRPC by addresses of IPv6 and IPv4, and by names that have
# both, have the same bits; a name that nobody knows: 69, with the resolver's reason.
set -euo pipefail

# A list of hosts of its own, which nobody else sees.
if ((EUID == 0)) && [[ -z ${HONE_OWN_HOSTS-} ]] && unshare -m true 2>/dev/null; then
  HONE_OWN_HOSTS=1 exec unshare -m bash "$0" "$@"
fi
model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
client_and_server 'learning_rate: 1e-2'
quietly honec "$work/spec.yaml" -o "$work/out"
hone-keys init "$work/keys" >/dev/null
hone-keys issue "$work/keys" server --dns localhost --dns ::1 --dns 127.0.0.1 --dns both.example >/dev/null
hone-keys issue "$work/keys" client >/dev/null

steps=3
# meet HOST OTHER: the server at HOST, whom the client calls OTHER.
meet() {
  local port
  port=$(free_port)
  rm -rf "$work/run"
  mkdir "$work/run"
  "$work/out/server/train" --serve "$1:$port" --keys "$work/keys/server" --admit "$work/keys/admitted" \
    --output "$work/run/server" --timeout 60 >"$work/run/server.log" 2>&1 &
  "$work/out/client/train" --connect "$2:$port" --keys "$work/keys/client" --data "$data" --steps $steps \
    --output "$work/run/client" --timeout "${3-60}" >"$work/run/client.log" 2>&1 && wait $!
}
# same HOST OTHER
same() {
  meet "$1" "$2" || { echo "addresses: $1, $2:" >&2; cat "$work"/run/*.log >&2; exit 1; }
  cat "$work"/run/*/adapter_model.safetensors >"$work/result"
  [[ -e $work/first ]] || cp "$work/result" "$work/first"
  cmp "$work/result" "$work/first"
}
same 127.0.0.1 127.0.0.1
same localhost localhost
echo 'an address of IPv4, and a name'

if python3 -c 'import socket; socket.create_server(("::1", 0), family=socket.AF_INET6)' 2>/dev/null; then
  same '[::1]' '[::1]'
  same '[::]' localhost
  echo 'IPv6'
  if [[ -n ${HONE_OWN_HOSTS-} ]]; then
    touch "$work/hosts"
    mount --bind "$work/hosts" /etc/hosts
    for order in '127.0.0.1 ::1' '::1 127.0.0.1'; do
      for each in $order; do echo "$each both.example"; done >"$work/hosts"
      same '[::1]' both.example
      same 127.0.0.1 both.example
    done
    umount /etc/hosts
    echo 'a name that has both, of which one answers'
  fi
fi

status=0
meet 127.0.0.1 no.such.host.invalid 1 || status=$?
kill %% && wait %% || true
((status == 69)) && grep -q 'H0816.*no.such.host.invalid' "$work/run/client.log" ||
  { cat "$work/run/client.log" >&2; exit 1; }
echo 'a name that nobody knows: 69'
