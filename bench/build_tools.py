"""The programs of the build that the benchmark starts."""

import json
import subprocess
import sys

from children import end_with_parent


def run_checked(arguments):
    """Runs a program; its stderr becomes the exception's text."""
    try:
        done = subprocess.run([str(a) for a in arguments], text=True,
                              capture_output=True, preexec_fn=end_with_parent)
    except OSError as error:
        raise RuntimeError(f"{arguments[0]}: {error.strerror}; build it, or "
                           f"leave out --no-build") from None
    if done.returncode != 0:
        raise RuntimeError(f"{arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def run_main(main):
    """Runs a program's main(); a failure is one line."""
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:  # an OSError names its path
        sys.exit(f"bench: {error}")


class FmaProbe:
    """The FMA peak of this machine, measured anew at every call."""

    def __init__(self, bin_dir):
        self.program = bin_dir / "hone-bench-peak"

    def rates(self, threads):
        """GFLOP/s of `threads` threads together: `gflops` of f32, and
        `pairs_gflops` of products of bfloat16, where that is one instruction;
        elsewhere the same."""
        return json.loads(run_checked([self.program, threads, "pairs"]))

    def measure(self, threads):
        """GFLOP/s of `threads` threads together."""
        return json.loads(run_checked([self.program, threads]))["gflops"]


class ReadProbe:
    """The rate at which threads read a file that is in memory, measured anew."""

    def __init__(self, bin_dir):
        self.program = bin_dir / "hone-bench-read"

    def measure(self, file, threads):
        """GB/s of `threads` threads together."""
        return json.loads(run_checked([self.program, file, threads]))["gb_s"]
