"""Two programs of a cut model, a client and a server, over a socket of this machine."""

import contextlib
import subprocess

from build_tools import run_checked
from children import end_with_parent


@contextlib.contextmanager
def serving(out, folder, both=()):
    """`out/server`, which trains in `folder` with options `both`, and the client's options."""
    socket = folder / "socket"
    common = ["--timeout", 3600, *both]  # a large step on two cores takes longer than the default
    log = folder / "server.log"  # a pipe that nobody reads would fill
    with log.open("w") as file:
        server = subprocess.Popen(
            [str(a) for a in [out / "server/train", "--serve", f"unix:{socket}", *common,
                              "--output", folder / "server"]],
            stdout=file, stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
    try:
        yield server, [out / "client/train", "--connect", f"unix:{socket}", *common,
                       "--output", folder / "client"]
    finally:
        server.kill()
        server.wait()


def train_together(out, folder, client, both=()):
    """Trains `out/client` and `out/server` in `folder`; returns each one's output,
    by name.

    `client` and `both` are options of the client and of both programs.
    """
    with serving(out, folder, both) as (server, command):
        said = run_checked([*command, *client])
        log = folder / "server.log"
        if server.wait():
            raise RuntimeError(log.read_text())
        return {"client": said, "server": log.read_text()}
