# over-namespaces.sh: for train.sh, as root. Programs meet over gRPC, with keys: the client in a network
# namespace, the others in a second one, with a line of tbf between them that is down now and then, by seed.

patience=60
address=10.9.0.2
declare -A port=()
spaces=()

# within SPACE COMMAND...
within() { nsenter -n -t "${spaces[$1]}" "${@:2}"; }

start_engine() {
  ((${#spaces[@]} == 0)) || return 0
  hone-keys init "$work/keys" >/dev/null
  hone-keys issue "$work/keys" server --dns $address --dns localhost >/dev/null
  hone-keys issue "$work/keys" middle --dns $address >/dev/null
  hone-keys issue "$work/keys" client >/dev/null
  echo middle >>"$work/keys/admitted"
  port=([middle]=7701 [server]=7702)
  local i
  for i in 0 1; do
    unshare -n sleep infinity &
    spaces+=($!)
    while [[ $(readlink "/proc/${spaces[i]}/ns/net") == "$(readlink /proc/self/ns/net)" ]]; do
      kill -0 "${spaces[i]}"
      sleep 0.02
    done
  done
  within 0 ip link add line0 type veth peer name line1
  within 0 ip link set line1 netns "${spaces[1]}"
  for i in 0 1; do
    within $i ip link set lo up
    within $i ip addr add 10.9.0.$((i + 1))/24 dev line$i
    within $i ip link set line$i up
    within $i tc qdisc add dev line$i root tbf rate 20mbit burst 16kb latency 200ms
  done
  breaks &
}

# The line goes down once in a second, for a tenth of one.
breaks() {
  RANDOM=$seed
  while sleep "0.$((RANDOM % 90 + 10))"; do
    within 0 ip link set line0 down
    sleep 0.1
    within 0 ip link set line0 up
    echo >>"$work/breaks"
  done
}

# Of the line, which no connection needs to notice.
cuts() { wc -l <"$work/breaks"; }

bring() { :; }

# runs PROGRAM: the command that starts it.
runs() {
  local space=1
  [[ $1 != client ]] || space=0
  echo nsenter -n -t "${spaces[space]}"
}

meets() {
  local at=$address
  [[ $1 == client ]] || at=localhost
  local -A after=([client]=server [middle]=server)
  [[ $2 == *3* ]] && after[client]=middle
  [[ $1 == client ]] || echo --serve "0.0.0.0:${port[$1]}" --admit "$work/keys/admitted"
  [[ $1 == server ]] || echo --connect "$at:${port[${after[$1]}]}"
  echo --keys "$work/keys/$1"
}
