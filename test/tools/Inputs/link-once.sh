#!/bin/sh
# LINKED=file link-once.sh arguments: links one program, as c++ does, and no second.
[ -e "$LINKED" ] && echo "one program is enough" >&2 && exit 1
touch "$LINKED" && exec c++ "$@"
