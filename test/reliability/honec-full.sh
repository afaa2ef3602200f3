#!/usr/bin/env bash
# honec-full.sh MODEL SPEC
#
# In a mount namespace, as root. The folder of temporary files is full: in the
# middle of an object file, and after it, where a shared library's exports have no
# room. honec ends with 73, names the file and leaves nothing.
set -euo pipefail

model=$1 spec=$2
work=$(mktemp -d)
disk=$work/disk
leave() {
  umount "$disk" 2>/dev/null || true
  rm -rf "$work"
}
trap leave EXIT
mkdir "$disk"
mount -t tmpfs -o size=64m none "$disk"

compile() {
  TMPDIR=$disk honec "$spec" --set model="$model" --set train.residuals=mesp \
    --set lora.target_modules='[q_proj]' --set target=x86-64-v2 "$@"
}

# refused PAGES FILE [honec-ARG...]: with a disk of so many pages FILE has no room.
refused() {
  local pages=$1 file=$2 status=0
  shift 2
  mount -o "remount,size=$((pages * 4096))" "$disk"
  compile "$@" >"$work/out" 2>"$work/err" || status=$?
  if ((status != 73)) || [[ -n $(ls -A "$disk") || -e $work/new ]] ||
    ! grep -q "^error.*cannot write '$disk/$file': No space left on device" "$work/err"; then
    echo "honec-full: $pages pages, ${*@Q}: exit code $status" >&2
    cat "$work/err" >&2
    ls -RA "$disk" "$work" >&2
    exit 1
  fi
}

compile --emit=object -o "$work/object"
pages=$((($(stat -c %s "$work/object") + 4095) / 4096))
refused 1 'hone-.*\.o' -o "$work/new"
refused 1 'hone-.*\.o' --self-check
refused $((pages - 1)) 'hone-.*\.o' -o "$work/new"
refused "$pages" 'hone-exports-.*\.map' --emit=library -o "$work/new"
echo "honec-full: no room for an object file, nor for exports"
