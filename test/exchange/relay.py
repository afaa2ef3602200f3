"""relay.py TARGET SEED [--late MS] [--cut BYTES] [--stall MS] [--rate BYTES] [--delay MS]

Carries TCP connections to TARGET, HOST:PORT, and is bad at it by SEED: bytes
are late by up to MS; a connection is cut after BYTES on average, both ways
together, in the middle of whatever is under way; once in fifty pieces nothing
moves for MS; a second carries BYTES. With --delay it is a long line in place of
a bad one: all that comes is MS late, and later bytes are under way meanwhile.
Prints its own port, and, when it is asked to end (SIGTERM), the bytes that were
carried up to TARGET and down from it, and the connections and cuts.
"""

import argparse
import asyncio
import os
import random
import signal
import socket

options = argparse.ArgumentParser()
options.add_argument("target")
options.add_argument("seed", type=int)
for name in ("late", "cut", "stall", "rate", "delay"):
    options.add_argument("--" + name, type=int, default=0)
given = options.parse_args()
draw = random.Random(given.seed)
total = {"up": 0, "down": 0, "connections": 0, "cuts": 0}


class Cut(Exception):
    pass


async def carry(reader, writer, way, left):
    while data := await reader.read(65536):
        if given.late:
            await asyncio.sleep(draw.random() * given.late / 1000)
        if given.stall and draw.random() < 0.02:
            await asyncio.sleep(given.stall / 1000)
        if given.rate:
            await asyncio.sleep(len(data) / given.rate)
        left[0] -= len(data)
        if given.cut and left[0] < 0:
            data = data[: len(data) // 2]
        total[way] += len(data)
        writer.write(data)
        await writer.drain()
        if given.cut and left[0] < 0:
            total["cuts"] += 1
            raise Cut
    writer.write_eof()


def end(writer):
    """At once: bytes that are written and not yet sent are lost."""
    writer.transport.abort()


async def deliver(queue, writer, way):
    clock = asyncio.get_running_loop().time
    while piece := await queue.get():
        due, data = piece
        if (left := due - clock()) > 0:
            await asyncio.sleep(left)
        total[way] += len(data)
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def carry_far(reader, writer, way):
    """A line of a rate and a delay, on which pieces follow one another."""
    clock = asyncio.get_running_loop().time
    queue = asyncio.Queue()
    delivering = asyncio.create_task(deliver(queue, writer, way))
    free = 0
    while data := await reader.read(16384):
        free = max(free, clock()) + (len(data) / given.rate if given.rate else 0)
        queue.put_nowait((free + given.delay / 1000, data))
        if (ahead := free - clock()) > 0.005:
            await asyncio.sleep(ahead - 0.002)
    queue.put_nowait(None)
    await delivering


async def connected(reader, writer):
    total["connections"] += 1
    host, _, port = given.target.rpartition(":")
    try:
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
    except OSError:
        end(writer)
        return
    if given.delay:
        try:
            await asyncio.gather(carry_far(reader, up_writer, "up"),
                                 carry_far(up_reader, writer, "down"))
        except OSError:
            pass
        for each in (writer, up_writer):
            end(each)
        return
    left = [draw.expovariate(1 / given.cut) if given.cut else 0]
    try:
        await asyncio.gather(carry(reader, up_writer, "up", left),
                             carry(up_reader, writer, "down", left))
    except (Cut, OSError):
        pass
    for each in (writer, up_writer):
        end(each)


async def main():
    server = await asyncio.start_server(connected, "127.0.0.1", 0, family=socket.AF_INET)
    print(server.sockets[0].getsockname()[1], flush=True)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    await over.wait()
    print(*(f"{key} {value}" for key, value in total.items()), flush=True)
    os._exit(0)  # bytes under way end with the process


asyncio.run(main())
