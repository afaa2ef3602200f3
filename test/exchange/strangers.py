"""strangers.py PORT CA: strangers without valid keys, at a port where a program
serves.

Each is closed without an answer; 100 that say nothing are held open meanwhile, and closed
in the end. Prints "held" when those are there, and a line for each kind.
"""

import socket
import ssl
import sys

port, authority = int(sys.argv[1]), sys.argv[2]
preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"


def dial():
    return socket.create_connection(("localhost", port), timeout=60)


def closed(stream):
    """The bytes before the end."""
    said = b""
    try:
        while data := stream.recv(65536):
            said += data
    except (ConnectionError, ssl.SSLError):
        pass
    return said


held = [dial() for _ in range(100)]
print("held", flush=True)

for name, says in (("plaintext", preface), ("HTTP/1", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")):
    stream = dial()
    stream.sendall(says)
    # A TLS alert, of seven bytes, is no answer.
    said = closed(stream)
    assert len(said) <= 7 and not said.startswith(b"HTTP"), said
    print(name + ": closed", flush=True)

for name, version in (("TLS 1.3", ssl.TLSVersion.TLSv1_3), ("TLS 1.2", ssl.TLSVersion.TLSv1_2)):
    context = ssl.create_default_context(cafile=authority)
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    try:
        stream = context.wrap_socket(dial(), server_hostname="localhost")
        stream.sendall(preface)
        said = closed(stream)
    except (ConnectionError, ssl.SSLError):
        said = b""
    assert said == b"", said
    print(f"no certificate, {name}: closed", flush=True)

for stream in held:
    assert closed(stream) == b""
print("stalled: closed", flush=True)
