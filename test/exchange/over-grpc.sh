# over-grpc.sh: for train.sh. Programs meet over gRPC, with keys, through a relay that is
# late, stalls and cuts connections by seed. HONE_RELAY: its options.

patience=60
declare -A port=() relay=()
relays=()

start_engine() {
  ((${#relay[@]} == 0)) || return 0
  hone-keys init "$work/keys" >/dev/null
  hone-keys issue "$work/keys" server --dns localhost >/dev/null
  hone-keys issue "$work/keys" middle --dns localhost >/dev/null
  hone-keys issue "$work/keys" client >/dev/null
  echo middle >>"$work/keys/admitted"
  local program
  for program in middle server; do
    port[$program]=$(free_port)
    # shellcheck disable=SC2086
    python3 "$here/relay.py" "127.0.0.1:${port[$program]}" "$seed" \
      ${HONE_RELAY---late 5 --stall 100 --cut 150000} >"$work/relay.$program" &
    relays+=($!)
  done
  for program in middle server; do
    until [[ -s $work/relay.$program ]]; do sleep 0.1; done
    relay[$program]=$(head -n 1 "$work/relay.$program")
  done
}

# A relay prints its work soon after it is asked to end. One that has died says
# nothing.
cuts() {
  local each left=600
  for each in "${relays[@]}"; do
    kill "$each" || { echo "train: relay $each has ended before it was asked to" >&2; return 1; }
  done
  until (($(grep -c cuts "$work"/relay.* | awk -F: '{n += $2} END {print n}') == ${#relays[@]})); do
    ((--left)) || { echo 'train: a relay that was asked to end did not' >&2; return 1; }
    sleep 0.1
  done
  sed -n 's/.* cuts //p' "$work"/relay.* | awk '{n += $1} END {print n}'
}

bring() {
  [[ -f $work/$2/$1/hone-exchange-grpc.so ]] ||
    { echo 'train: honec has put no engine beside the program' >&2; exit 1; }
}

meets() {
  local -A after=([client]=server [middle]=server)
  [[ $2 == *3* ]] && after[client]=middle
  [[ $1 == server || $1 == middle ]] &&
    echo --serve "127.0.0.1:${port[$1]}" --admit "$work/keys/admitted"
  [[ $1 == server ]] || echo --connect "localhost:${relay[${after[$1]}]}"
  echo --keys "$work/keys/$1"
}
