#!/usr/bin/env bash
# try.sh PACKAGE.deb - installs it into a clean Debian 12, as its user does: one
# command, then a model is compiled, trained and talked to by somebody who is not
# root. After the package is removed no file is there that was not before.
#
# Exit code 77, with a reason, where no clean root can be made.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
package=${1:?usage: try.sh PACKAGE.deb}

skip() {
  printf 'SKIPPED: a clean Debian 12: %s\n' "$1"
  exit 77
}
command -v mmdebstrap >/dev/null ||
  skip "there is no mmdebstrap; apt-get install mmdebstrap"
[ "$(id -u)" -eq 0 ] || unshare --user --map-root-user true 2>/dev/null ||
  skip "this system gives users no namespaces"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
apt-get -qq download --print-uris hostname >"$work/uris" 2>&1 ||
  skip "apt has no package lists; apt-get update"

# The archive that this machine has, and its security updates, where LLVM 22 is.
archive=$(sed -n "s,^'\(.*\)/pool/.*,\1,p" "$work/uris" | head -n 1)
mirror() { printf 'deb %s %s main\n' "$@"; }
{
  mirror "$archive" bookworm
  mirror "$archive-security" bookworm-security
} >"$work/sources"

# This machine's own settings of apt go along, as one whose clock is wrong has.
options=()
for option in Acquire::Check-Valid-Until Acquire::Check-Date Acquire::http::Proxy; do
  eval "$(apt-config shell value $option)"
  [ -z "${value-}" ] || options+=(--aptopt="$option \"$value\"")
  unset value
done

cp "$package" "$work/hone.deb"
cp "$here/in-root.sh" "$work"
cp "$here/../examples/quickstart/config.json" "$work"
head -n 60 "$here/../examples/conversation/keeper.jsonl" >"$work/notes.jsonl"
mmdebstrap --quiet --variant=minbase --format=null "${options[@]}" \
  --customize-hook='mkdir "$1/try"' \
  --customize-hook="copy-in $work/hone.deb $work/in-root.sh $work/config.json $work/notes.jsonl /try" \
  --customize-hook='chroot "$1" sh /try/in-root.sh' \
  bookworm - - <"$work/sources" >"$work/log" 2>&1 || {
  cat "$work/log"
  if grep -qE 'Could not resolve|Cannot initiate the connection|Could not connect' "$work/log"; then
    skip "there is no network"
  fi
  exit 1
}
grep '^try: ' "$work/log"
