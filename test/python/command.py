"""Runs programs for tests that are in Python."""

import subprocess


def call(command, **options):
    """Runs `command` and returns its standard output. If it fails, raises
    RuntimeError with the ends of both outputs."""
    done = subprocess.run([str(part) for part in command], text=True,
                          capture_output=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code "
                           f"{done.returncode}\n{done.stdout[-600:]}"
                           f"{done.stderr[-2000:]}")
    return done.stdout
