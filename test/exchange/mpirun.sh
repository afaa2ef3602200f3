# mpirun.sh - to source: `mpi`, the tests' options of mpirun.
#
# More programs than processors, and as root, which mpirun refuses by default. No
# network but this machine's own, and no wait for another machine.
mpi=(--oversubscribe --bind-to none --mca btl self,vader)
((EUID != 0)) || mpi+=(--allow-run-as-root)
