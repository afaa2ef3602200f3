# plans.sh: sourced. Programs that mpirun starts take at most their plans, over
# memory that they share and over TCP; makes $work.

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
. "$(dirname "$0")/programs.sh"
. "$here/mpirun.sh"

# over vader|tcp ARGUMENT...: mpirun, by that way alone.
over() { mpirun "${mpi[@]/vader/$1}" --mca btl_tcp_if_include lo "${@:2}"; }

# first_planned LOG WHO: prints the first one's plan for exchanges.
first_planned() { echo "$2: the first one planned$(sed -n 's/^ *exchange *\(.* MiB\)/ \1/p' "$1") for exchanges"; }
