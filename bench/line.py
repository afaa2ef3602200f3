"""line.py PID PID RATE DELAY: a line between the network namespaces of two processes.

The ends are 10.9.0.1 and 10.9.0.2, named line0. A second carries RATE bytes each way, and
all that is sent is DELAY milliseconds late; later bytes are under way meanwhile. It needs
root and /dev/net/tun, and no kernel's own shaping. Prints a line when it is there.
"""

import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 1, 0x1000, 0x40000000


def end_in(process, address):
    """A device in the namespace of `process`, where this one stays."""
    with open(f"/proc/{process}/ns/net") as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET):
            sys.exit(f"line.py: {process}: {os.strerror(ctypes.get_errno())}")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", b"line0", IFF_TUN | IFF_NO_PI))
    for command in (f"ip addr add {address}/24 dev line0",
                    "ip link set line0 up mtu 16000 txqueuelen 1000", "ip link set lo up"):
        subprocess.run(command.split(), check=True)
    return end


def take_off(end):
    try:
        while True:
            yield os.read(end, 65536)
    except BlockingIOError:
        pass


def main():
    ends = [end_in(sys.argv[1], "10.9.0.1"), end_in(sys.argv[2], "10.9.0.2")]
    rate, delay = float(sys.argv[3]), float(sys.argv[4]) / 1000
    print("up", flush=True)
    free = [0.0, 0.0]  # when the way can take the next packet
    under_way = [collections.deque(), collections.deque()]
    while True:
        due = [way[0][0] for way in under_way if way]
        left = max(0, min(due) - time.monotonic()) if due else None
        select.select(ends, [], [], left)
        now = time.monotonic()
        for i, end in enumerate(ends):
            for packet in take_off(end):
                free[i] = max(free[i], now) + len(packet) / rate
                under_way[i].append((free[i] + delay, packet))
            while under_way[i] and under_way[i][0][0] <= now:
                os.write(ends[1 - i], under_way[i].popleft()[1])


if __name__ == "__main__":
    main()
