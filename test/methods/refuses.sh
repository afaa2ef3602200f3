# refuses.sh - to be sourced by a test that has $work.

# refuses TEXT COMMAND...: the command fails and says TEXT, which grep reads.
refuses() {
  local text=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    echo "expected a refusal: $*" >&2
    exit 1
  fi
  grep -q "$text" "$work/out" || {
    cat "$work/out" >&2
    exit 1
  }
}
