# in-root.sh - what try.sh does in the clean Debian, as root.
set -eu
say() { printf 'try: %s\n' "$*"; }

# Every file but the records of apt and dpkg, and this folder.
files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /try \
    -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \
    -o -path /var/log -o -path /tmp -o -path /run -o -path /home \) -prune \
    -o -print | sort
}
apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends "$@" >/try/apt.log 2>&1 ||
  { cat /try/apt.log; exit 1; }; }

useradd --create-home someone
chmod a+rwx /try
apt install /try/hone.deb
say "installed: $(dpkg-query -W -f '${Package} ${Version}, ${Installed-Size} KiB' hone), with $(dpkg-query -W | wc -l) packages in all"
apt purge hone
files >/try/before
if grep -E '/(lib)?hone' /try/before; then
  say "left something behind"
  exit 1
fi

apt install /try/hone.deb
cat >/try/use.sh <<'TEXT'
set -eu
cd /try
for tool in hone honec hone-adapter hone-make-model hone-simulate; do $tool --version; done
hone-make-model config.json -o model --seed 1 --tokenizer byte
hone finetune model notes.jsonl -o run --set chat_template=plain -- --steps 8
hone generate run --prompt 'Who keeps' --max-new-tokens 8
hone merge run -o merged
printf 'model: model\ntrain: {max_seq_length: 64}\n' >spec.yaml
honec spec.yaml --emit=library -o library
TEXT
su someone -c 'sh /try/use.sh' >/try/use.log 2>&1 || {
  cat /try/use.log
  exit 1
}
grep -m 1 '^hone [0-9]' /try/use.log | sed 's/^/try: /'
grep -o 'after [0-9]* of [0-9]* steps.*' /try/use.log | sed 's/^/try: trained: /'
[ -s /try/run/adapter_model.safetensors ] && [ -s /try/merged/model.safetensors ]
test -e /usr/share/bash-completion/completions/hone
test -e /usr/share/man/man1/honec.1 || test -e /usr/share/man/man1/honec.1.gz
apt purge hone
files >/try/after
if diff /try/before /try/after; then
  say "removed: no file is there that was not before"
else
  say "left something behind"
  exit 1
fi
