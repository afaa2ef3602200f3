#!/usr/bin/env bash
# grpc-refuses.sh MODEL.mlir WEIGHTS DATA
#
# Addresses and keys that are refused, by name and exit code; and all strangers
# to a server, beside a client that trains with it and goes on. Had a greeting
# of theirs been read, it would not, since they were started with another
# option. If one of the two is stopped, the other one waits, and takes next to
# nothing of a core.
set -euo pipefail

model=$1 weights=$2 data=$3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
client_and_server 'learning_rate: 1e-2'
quietly honec "$work/spec.yaml" -o "$work/out"
keys=$work/keys

# says CODE PATTERN COMMAND...: whether that is the command's exit code, and it says that.
says() {
  got=0
  "${@:3}" >"$work/said" 2>&1 || got=$?
  [[ $got == "$1" ]] && grep -qE "$2" "$work/said"
}

# refused CODE PATTERN COMMAND...: it does.
refused() {
  says "$@" && return
  echo "grpc-refuses: ${*:3}: expects $1 and '$2' but got $got and" >&2
  cat "$work/said" >&2
  exit 1
}

# refused_in_time CODE PATTERN COMMAND...: a program that waits for --timeout says why nobody came,
# if it knows by then: with 1, 8 or 64 seconds, as the machine has it.
refused_in_time() {
  says "$@" --timeout 1 || says "$@" --timeout 8 || refused "$@" --timeout 64
}

# Keys.
refused 66 'expects ca.pem and ca.key.pem' hone-keys issue "$keys" phone
hone-keys init "$keys" >/dev/null
for name in server phone tablet stranger watch public; do
  own=()
  [[ $name != server ]] || own=(--dns localhost)
  hone-keys issue "$keys" $name "${own[@]}" >/dev/null
done
refused 73 'is there already' hone-keys init "$keys"
refused 73 'is there already' hone-keys issue "$keys" phone
refused 2 'letters, digits' hone-keys issue "$keys" ../phone
refused 2 'expects the name of a host' hone-keys issue "$keys" other --dns 'a b'
refused 2 'number of days' hone-keys issue "$keys" other --days 0
refused 2 'no such option' hone-keys issue "$keys" other --force
[[ ! -e $keys/other && -z $(find "$keys" -name '.*' -mindepth 1) ]]
[[ -z $(find "$keys" -name '*key.pem' ! -perm 600) ]]
sed -i /stranger/d "$keys/admitted"
hone-keys init "$work/others" >/dev/null
hone-keys issue "$work/others" phone >/dev/null
echo 'hone-keys refuses and overwrites nothing'

# dated NAME FROM TO: keys whose certificate is valid then.
dated() {
  mkdir "$keys/$1"
  cp "$keys/ca.pem" "$keys/watch/key.pem" "$keys/$1"
  openssl req -new -key "$keys/watch/key.pem" -subj /CN=watch -out "$work/request"
  : >"$work/index" && echo 01 >"$work/serial"
  openssl ca -batch -notext -config /dev/stdin -startdate "$2" -enddate "$3" -in "$work/request" \
    -out "$keys/$1/cert.pem" -cert "$keys/ca.pem" -keyfile "$keys/ca.key.pem" <<CA
[ca]
default_ca = own
[own]
database = $work/index
serial = $work/serial
new_certs_dir = $work
default_md = sha256
policy = any
[any]
commonName = supplied
CA
} 2>"$work/log"
dated expired 200101000000Z 200102000000Z
dated early 20980101000000Z 20990101000000Z
chmod 604 "$keys/public/key.pem"

port=$(free_port)
server=("$work/out/server/train" --output "$work/server")
client=("$work/out/client/train" --data "$data" --output "$work/client")
served=(--serve 127.0.0.1:$port --keys "$keys/server" --admit "$keys/admitted")
refused 2 'nothing goes over a network unencrypted' "${server[@]}" --serve 0.0.0.0:1 --admit "$keys/admitted"
refused 2 'expects a file of the names' "${server[@]}" --serve 0.0.0.0:1 --keys "$keys/server"
refused 2 'H0827.*unencrypted' "${client[@]}" --connect localhost:1
refused 2 'H0827.*expects HOST:PORT' "${client[@]}" --connect localhost --keys "$keys/phone"
refused 2 'H0827.*others may read this key' "${client[@]}" --connect localhost:1 --keys "$keys/public"
refused 2 'H0827.*ca.pem: cannot be read' "${client[@]}" --connect localhost:1 --keys "$keys"/none
refused 2 'H0102.*--admit: expects --serve' "${client[@]}" --connect localhost:1 --admit "$keys/admitted"
refused 2 'H0102.*--keys: expects' "${client[@]}" --keys "$keys/phone"
refused 2 'H0103.*--exchange: --connect already says' "${client[@]}" --connect localhost:1 --exchange grpc
refused 2 'H0101.*expects no comma' "${client[@]}" --connect localhost:1 --keys a,b
refused_in_time 69 'H0816.*refused' "${client[@]}" --connect localhost:$port --keys "$keys/phone"

# Errors that an engine finds before it meets anybody are said at once, and
# leave no folder.
rm -rf "$work/client" "$work/server"
# broken NAME [OWNER]: keys of which a test spoils one file.
broken() {
  rm -rf "$keys/broken"
  cp -r "$keys/${2-phone}" "$keys/broken"
  rm "$keys/broken/$1"
}
for each in 0 65536 99999; do
  refused 2 'H0827.*--serve: .*a port from 1 to 65535' "${server[@]}" --serve 127.0.0.1:$each \
    --keys "$keys/server" --admit "$keys/admitted" --weights "$work/none" # which is not looked for
done
refused 2 'H0827.*--serve: .*/none: cannot be read' "${server[@]}" --serve 127.0.0.1:$port \
  --keys "$keys/server" --admit "$keys/none"
refused 2 'H0827.*expects a file but got a folder' "${server[@]}" --serve 127.0.0.1:$port \
  --keys "$keys/server" --admit "$keys"
refused 2 'H0827.*--serve: cannot listen at 198.51.100.1:[0-9]*: Cannot assign' "${server[@]}" \
  --serve 198.51.100.1:$port --keys "$keys/server" --admit "$keys/admitted"
refused 2 "H0827.*--serve: cannot listen at unix:$work/none/x: .*No such file" "${server[@]}" --serve "unix:$work/none/x"
refused 2 'H0827.*expects a path of at most 107 bytes but got 200' "${server[@]}" \
  --serve "unix:$(printf 'a%.0s' {1..200})"
refused 2 'H0827.*something else than a socket' "${server[@]}" --serve "unix:$keys/admitted"
for owner in phone server; do
  broken key.pem $owner
  openssl ecparam -name prime256v1 -genkey -noout -out "$keys/broken/key.pem"
  chmod 600 "$keys/broken/key.pem"
  refused 2 'H0827.*--connect: .*they do not fit' "${client[@]}" --connect localhost:$port --keys "$keys/broken"
done
refused 2 'H0827.*--serve: .*they do not fit' "${server[@]}" --serve 127.0.0.1:$port \
  --keys "$keys/broken" --admit "$keys/admitted"
refused 2 'H0827.*--serve: .*phone/cert.pem: is the certificate of a program that connects' \
  "${server[@]}" --serve 127.0.0.1:$port --keys "$keys/phone" --admit "$keys/admitted"
broken cert.pem
openssl req -new -key "$keys/broken/key.pem" -subj /CN=phone |
  openssl x509 -req -days 1 -CA "$keys/ca.pem" -CAkey "$keys/ca.key.pem" -out "$keys/broken/cert.pem" \
    -extfile <(echo extendedKeyUsage=serverAuth) 2>"$work/log"
refused 2 'H0827.*--connect: .*cert.pem: is the certificate of a program that serves' \
  "${client[@]}" --connect localhost:$port --keys "$keys/broken"
head -c 2000 /dev/zero >"$keys/broken/cert.pem"
refused 2 'H0827.*cert.pem: expects PEM' "${client[@]}" --connect localhost:$port --keys "$keys/broken"
broken ca.pem
mkfifo "$keys/broken/ca.pem"
refused 2 'H0827.*ca.pem: expects a file but got' timeout 60 "${client[@]}" --connect localhost:$port --keys "$keys/broken"
refused 2 "H0827.*--connect: expects programs that this one meets, 'server', but got 'nobody'" \
  "${client[@]}" --connect nobody=localhost:$port --keys "$keys/phone"
refused 2 'H0827.*--connect: expects each program once' "${client[@]}" \
  --connect server=localhost:$port,server=localhost:1 --keys "$keys/phone"
[[ ! -e $work/client && ! -e $work/server ]] ||
  { echo 'grpc-refuses: something was left' >&2; exit 1; }
"${server[@]}" --serve "unix:$work/socket" --timeout 60 >"$work/server.log" 2>&1 &
until [[ -S $work/socket ]]; do sleep 0.05; done
refused 2 'H0827.*another program listens there' "$work/out/server/train" --output "$work/server2" \
  --serve "unix:$work/socket"
kill -9 $! && { wait $! || true; } 2>/dev/null
refused_in_time 69 'H0816.*nobody has dialled' "${server[@]}" --serve "unix:$work/socket"
echo 'addresses and keys: 2; nobody there: 69'

# The program that sees first that they differ stays until the other one has seen it.
for ((i = 0; i < 5; ++i)); do
  "${server[@]}" "${served[@]}" --timeout 60 >"$work/server.log" 2>&1 &
  refused 2 'H0812.*--first-learning-rate .here 0.5, there 0.01' "$work/out/client/train" --timeout 60 \
    --data "$data" --output "$work/client" --first-learning-rate 0.5 --connect localhost:$port --keys "$keys/phone"
  code=0
  wait $! || code=$?
  ((code == 2)) && grep -q 'H0812.*--first-learning-rate (here 0.01, there 0.5)' "$work/server.log" ||
    { echo "grpc-refuses: $code of a server that differs" >&2; cat "$work/server.log" >&2; exit 1; }
done
echo 'programs that differ: 2, both'

# One that trains, slowly, through a relay.
"${server[@]}" "${served[@]}" --timeout 60 >"$work/server.log" 2>&1 &
both=($!)
python3 "$here/relay.py" localhost:$port 1 --late 20 >"$work/relay" &
until [[ -s $work/relay ]]; do sleep 0.1; done
"$work/out/client/train" --data "$data" --output "$work/client" --timeout 60 --steps 100000 \
  --connect localhost:"$(head -n 1 "$work/relay")" --keys "$keys/phone" >"$work/client.log" 2>&1 &
both+=($!)

steps() {
  local log=$work/client/steps.jsonl
  if [[ -e $log ]]; then wc -l <"$log"; else echo 0; fi
}
# trains: waits for one more step in the log.
trains() {
  local before
  before=$(steps)
  until (($(steps) > before)); do
    kill -0 "${both[@]}" || { cat "$work/client.log" "$work/server.log" >&2; exit 1; }
    sleep 0.1
  done
}
trains
python3 "$here/strangers.py" $port "$keys/ca.pem" >"$work/strangers" &
strangers=$!
until [[ -s $work/strangers ]]; do sleep 0.1; done
trains
stranger() {
  "$work/out/client/train" --data "$data" --first-learning-rate 0.5 \
    --output "$work/other" "$@"
}
refused 77 "H0825.*'stranger' is not in the list" stranger --timeout 60 --connect localhost:$port --keys "$keys/stranger"
echo 'not admitted: 77'
echo stranger >>"$keys/admitted"
rm -rf "$work/other"
refused 69 'H0826.*busy' stranger --timeout 60 --connect localhost:$port --keys "$keys/stranger"
[[ ! -e $work/other ]] || { echo 'grpc-refuses: it left a folder' >&2; ls -a "$work/other" >&2; exit 1; }
echo 'admitted since, and told that the server is busy: 69'
# The file is read at each connection; one that is there stays.
cp "$keys/admitted" "$work/admitted"
: >"$keys/admitted"
trains
refused 77 "H0825.*'stranger' is not in the list" stranger --timeout 60 --connect localhost:$port --keys "$keys/stranger"
cp "$work/admitted" "$keys/admitted"
echo 'a name that is no longer in the list: 77, and who is there stays'
for each in others/phone keys/expired keys/early; do
  refused 69 H0816 stranger --timeout 2 --connect localhost:$port --keys "$work/$each"
  echo "${each#*/}: 69"
done
refused_in_time 69 'H0816.*([Hh]andshake|peer|verif)' stranger --connect 127.0.0.1:$port --keys "$keys/phone"
echo 'another name than that of the certificate: 69'
refused 2 "H0827.*cannot listen" "$work/out/server/train" --output "$work/server2" "${served[@]}"
echo 'a port that is taken: 2'
wait $strangers
cat "$work/strangers"
trains
echo 'the one that trains goes on'

# idles STOPPED WAITING WHO: while one is stopped, the other waits.
idles() {
  local status=0
  kill -STOP "$1"
  sleep 1
  waits "$2" "$3" 3 || status=$?
  kill -CONT "$1" # also so that it can be ended
  ((status == 0)) || exit 1
  trains
}
idles "${both[1]}" "${both[0]}" 'a server whose client is stopped'
idles "${both[0]}" "${both[1]}" 'a client whose server is stopped'
echo 'both wait with at most 2 % of a core'
