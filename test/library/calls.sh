#!/usr/bin/env bash
# calls.sh MODEL OPENS
set -euo pipefail
source "$(dirname "$0")/build.sh"
build whole --set model="$1" --emit=library
folder=$work/whole/model
link "$work/calls" -I"$folder" "$here/calls.c" "$folder/libmodel.a"
"$work/calls" "$folder/weights.hone.safetensors" "$work/run" "$2"

# hone.h is C++ too, and a module that Swift imports.
echo '#include "model.h"' >"$work/header.cpp"
clang++-22 -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$root/runtime/include" -I"$folder" "$work/header.cpp"
printf '@import Hone;\n@import model;\nconst void *at = &hone_model; void *f = hone_open;\n' >"$work/module.m"
clang-22 -fmodules -fmodules-cache-path="$work/modules" -Wno-incompatible-pointer-types \
  -fsyntax-only -I"$root/runtime/include" -I"$folder" "$work/module.m"
echo "module maps parse"
# No code that is linked for a session prints, handles signals or ends the
# process.
python3 "$example/train.py" "$folder/libmodel.so" "$folder/weights.hone.safetensors" "$work/data.txt" 3
if command -v javac >/dev/null; then
  java=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
  mkdir "$work/java"
  javac -d "$work/java" "$example/Train.java"
  clang-22 -shared -fPIC -Wall -Wextra -Werror -I"$java/include" -I"$java/include/linux" \
    -I"$root/runtime/include" -I"$folder" -o "$work/java/libhone_jni.so" "$example/hone_jni.c" \
    "$folder/libmodel.a" "$lib/libhone_core.a" -lstdc++ -lm -lpthread
  java -Xmx64m -Djava.library.path="$work/java" -cp "$work/java" Train "$folder/weights.hone.safetensors" 3 |
    sed 's/^/java: /'
else
  echo "java: skipped, there is no JDK"
fi
