# programs.sh: sourced. Programs of one spec, of which one trains alone and two
# or three together, and their results. spec, prepare, train and same need
# $model, $weights, $data, $steps and $work.

here=$(dirname "${BASH_SOURCE[0]}")

# engine FILE [COMPILER]: the engine of the tests.
engine() {
  local runtime=$here/../../runtime
  "${2-c++}" -std=c++17 -O1 -shared -fPIC -I "$runtime/include" -I "$runtime/src" \
    "$here/TestEngine.cpp" "$runtime/src/exchange/Frame.cpp" -o "$1"
}

# free_port: a port of this machine that nobody has now, and none that the system
# gives a program that dials or asks for any port.
free_port() {
  python3 -c '
import random, socket
while True:
    try:
        with socket.create_server(("127.0.0.1", random.randrange(10240, 32768))) as s:
            print(s.getsockname()[1])
        break
    except OSError:
        pass'
}

# start_engine: once, before programs meet. bring PROGRAM RUN: the engine lies beside the
# program. meets PROGRAM RUN: the options by which the program finds the others. cuts: how often
# links were cut, once at the end. runs PROGRAM: a command that starts it, if it has one. over-NAME.sh
# has these of another engine.
start_engine() { [[ -e $work/engine.so ]] || engine "$work/engine.so"; }
bring() { cp "$work/engine.so" "$work/$2/$1/hone-exchange-test.so"; }
meets() { echo --exchange test --exchange-at "$work/$2"; }
runs() { :; }
cuts() { { cat "$work"/together?/cuts 2>/dev/null || true; } | wc -c; }

# names COUNT: of the programs.
names() { (($1 == 2)) && echo client server || echo client middle server; }

# spec COUNT PROGRAM...: spec.yaml, of one program if there is none.
spec() {
  local count=$1 named=("" "" "")
  shift
  (($# == 0)) || named=(", program: $1" ", program: $2" ", program: ${3-}")
  cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {compute_dtype: float32, residuals: mesp, learning_rate: 1e-2, batch_size: 2,
        max_seq_length: 32, gradient_accumulation_steps: 2, max_grad_norm: 0.5}
parts:
  first: {layers: 0-0, method: mezo, directions: 2, perturbation_scale: 1e-2${named[0]}}
SPEC
  if ((count == 2)); then
    echo "  last: {method: backprop${named[1]}}"
  else
    echo "  middle: {layers: 1-1, method: fgd${named[1]}}"
    echo "  last: {method: backprop${named[2]}}"
  fi >>"$work/spec.yaml"
  echo "target: reference" >>"$work/spec.yaml"
}

# client_and_server [SETTINGS]: spec.yaml of two programs, mezo below backprop.
client_and_server() {
  cat >"$work/spec.yaml" <<SPEC
model: $model
weights: {path: $weights}
train: {compute_dtype: float32, batch_size: 2, max_seq_length: 32${1+, $1}}
parts:
  first: {layers: 0-0, method: mezo, directions: 2, program: client}
  last: {method: backprop, program: server}
target: reference
SPEC
}

# as_one FOLDER: $work/FOLDER is one program, of the parts of spec.yaml.
as_one() {
  sed 's/, program: [a-z]*//' "$work/spec.yaml" >"$work/whole.yaml"
  quietly honec "$work/whole.yaml" -o "$work/$1"
}

quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }

# prepare COUNT [options of honec]: one program in oneCOUNT, its results in
# oneCOUNT.run, and COUNT programs in togetherCOUNT. $own are options of the
# client's runs and of the one program's, $both of all; they wait for $patience
# seconds.
own=(--save-every 2) both=() patience=20
prepare() {
  local count=$1 program
  spec "$count"
  quietly honec "$work/spec.yaml" -o "$work/one$count" "${@:2}"
  quietly "$work/one$count/train" --data "$data" --steps $steps "${own[@]}" "${both[@]}" \
    --output "$work/one$count.run"
  # shellcheck disable=SC2046
  spec "$count" $(names "$count")
  quietly honec "$work/spec.yaml" -o "$work/together$count" "${@:2}"
  start_engine
  for program in $(names "$count"); do
    bring "$program" "together$count"
  done
}

# of LOG: a log without the numbers that a clock and a machine decide.
of() {
  sed -e 's/"run": "[^"]*", //' -e 's/"tokens_per_second.*//' "$1"
}

# train PROGRAM RUN [options]: in the background, with $work/RUN.PROGRAM.
train() {
  local program=$1 run=$2 given=()
  shift 2
  [[ $program != client ]] || given=(--data "$data" --steps $steps "${own[@]}")
  # shellcheck disable=SC2046
  $(runs "$program") "$work/$run/$program/train" $(meets "$program" "$run") \
    --timeout $patience --output "$work/$run.$program" "${given[@]}" "${both[@]}" "$@" \
    >>"$work/$run.$program.log" 2>&1 &
}

# same ONE RUN PROGRAM...: logs and results of all programs are those of one.
same() {
  local one=$1 run=$2 program
  shift 2
  for program in "$@"; do
    of "$work/$run.$program/steps.jsonl" | cmp - <(of "$work/$one.run/steps.jsonl") ||
      { echo "train: $run: $program has another log" >&2; exit 1; }
  done
  python3 "$here/join.py" "$work/$one.run" "${@/#/$work/$run.}"
}

# fails PROGRAM RUN CODE: says why.
fails() {
  echo "train: $2: $1 ended with $3" >&2
  tail -n 20 "$work/$2".*.log >&2
  exit 1
}

# together RUN: $programs train together, to their ends.
together() {
  local program
  local -A running=()
  for program in "${programs[@]}"; do
    train "$program" "$1"
    running[$program]=$!
  done
  for program in "${programs[@]}"; do
    wait "${running[$program]}" || fails "$program" "$1" $?
  done
}

# ends PROGRAM CODE [TEXT]: the one of $run whose process a variable of its name has ends with that exit
# code, having said that.
ends() {
  local code=0
  { wait "${!1}" || code=$?; } 2>/dev/null
  ((code == $2)) || fails "$1" "$run" "$code instead of $2"
  [[ -z ${3-} ]] || grep -q -e "$3" "$work/$run.$1.log" || fails "$1" "$run" "$code, and not '$3'"
}

# survives KILLS: programs train together, run after run, until KILLS of them
# were killed and started again. The caller says how: fresh sets $programs and
# removes the files of the run before, starts PROGRAM starts one in the
# background, pause waits for a moment to kill at, or says with 1 that it is
# none, broke PROGRAM CODE ends the test, and whole compares the results of a
# run.
survives() {
  local killed=0 isMoment program all
  while ((killed < $1)); do
    fresh
    unset running
    declare -gA running=()
    for program in "${programs[@]}"; do
      starts "$program"
      running[$program]=$!
    done
    while ((${#running[@]} > 0)); do
      isMoment=1
      pause || isMoment=0
      for program in "${!running[@]}"; do
        kill -0 "${running[$program]}" 2>/dev/null && continue
        wait "${running[$program]}" || broke "$program" $?
        unset "running[$program]"
      done
      ((isMoment && ${#running[@]} > 0 && killed < $1)) || continue
      all=("${!running[@]}")
      program=${all[RANDOM % ${#all[@]}]}
      kill -9 "${running[$program]}" 2>/dev/null || continue
      { wait "${running[$program]}" || true; } 2>/dev/null
      ((++killed % 50)) || echo "after $killed kills" >&2
      starts "$program"
      running[$program]=$!
    done
    whole
  done
}

# waits PID WHO [SECONDS]: takes at most 2 % of a core, of 20 seconds, alive and
# not stopped. That is processor time, so other work on the machine does not
# count.
waits() {
  local seconds=${3-20} before after
  before=$(awk '{print $14 + $15}' "/proc/$1/stat")
  sleep "$seconds"
  after=$(awk '$3 !~ /[TZX]/ {print $14 + $15}' "/proc/$1/stat")
  [[ -n $after ]] || { echo "waits: $2 is stopped or dead" >&2; return 1; }
  awk -v ticks=$((after - before)) -v who="$2" -v rate="$(getconf CLK_TCK)" -v seconds="$seconds" 'BEGIN {
    printf "%s: %.2f %% of a core\n", who, ticks / rate / seconds * 100
    exit !(ticks / rate / seconds <= 0.02)
  }'
}

# wide_states LAYERS: $work/model, whose hidden states are those of OPT-125M, and $work/data.jsonl, of which
# 64 x 27 tokens make a batch. All else of the model is small.
wide_states() {
  sed -e 's/"hidden_size": [0-9]*/"hidden_size": 768/' -e "s/\"num_hidden_layers\": [0-9]*/\"num_hidden_layers\": $1/" \
    -e 's/"intermediate_size": [0-9]*/"intermediate_size": 64/' \
    "$here/../reliability/Inputs/small.json" >"$work/config.json"
  hone-make-model "$work/config.json" -o "$work/model" --tokenizer=byte >/dev/null
  python3 -c '
import json
for i in range(64):
    print(json.dumps({"input_ids": [(7 * i + 3 * j) % 250 for j in range(27)]}))' >"$work/data.jsonl"
}

# fits LOG MIB: a program took at most its plan, of which at most so many MiB
# are for exchanges.
fits() {
  awk -v most="$2" '
    $1 == "exchange" {exchange = $2}
    $1 ~ /^(peak|resident)$/ {sub(/.*\(/, ""); ++found; more += $1 > $3}
    END {exit !(exchange > 0 && exchange <= most && found == 2 && !more)}' "$1" ||
    { echo "fits: $1 takes more" >&2; grep '^ *exchange\|^peak\|^resident' "$1" >&2; return 1; }
}

# takes PROGRAM LOG LOCAL: a program over gRPC took at most its plan, in all and
# in addition to one over a local socket. At most 16 MiB are planned for
# exchanges.
takes() {
  local peak='s/^peak .*(\([0-9]*\) of .*/\1/p' planned='$1 == "exchange" {print $2}'
  awk -v with="$(sed -n "$peak" "$2")" -v without="$(sed -n "$peak" "$3")" \
    -v plan="$(awk "$planned" "$2")" -v less="$(awk "$planned" "$3")" -v name="$1" 'BEGIN {
    printf "%s: %.2f MiB of anonymous memory, %.2f more than over a local socket, where %.2f more are planned\n",
      name, with / 1048576, (with - without) / 1048576, plan - less
    printf "%s: %s MiB are planned for exchanges\n", name, plan
    exit !(with > 0 && with - without < (plan - less) * 1048576)
  }' || { echo "takes: $1 takes more" >&2; return 1; }
  fits "$2" 16
}
