#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Talks to the echo server on the emulated board: echo_client.py IMAGE [MESSAGES].

The emulator runs the board's network in user mode, without privileges, and forwards two ports of
this machine, which it chooses itself, to the board: 7, which echoes, and 9, which ends the program.
Bytes are drawn from a seed; every one that comes back is compared. Ends with 0 if all was well.
"""

import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

LIMIT_SECONDS = 60
LOCAL = "127.0.0.1"
LARGEST = 6000
EDGES = (1, 2, 3, 1023, 1024, 1025, 1459, 1460, 1461)  # around the board's buffer and a segment


class Board:
    """The emulator; its monitor and the board's words share standard output."""

    def __init__(self, image):
        forward = f"hostfwd=tcp:{LOCAL}:0-:7,hostfwd=tcp:{LOCAL}:0-:9"
        self.process = subprocess.Popen(
            ["qemu-system-arm", "-M", "mps2-an385", "-kernel", image, "-display", "none"]
            + ["-serial", "none", "-monitor", "stdio", "-nic", f"user,restrict=on,{forward}"]
            + ["-semihosting-config", "enable=on,target=native"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.ports = {}

    def find_ports(self):
        """Asks the monitor which ports of this machine lead to the board."""
        self.process.stdin.write("info usernet\n")
        self.process.stdin.flush()
        pattern = re.compile(r"TCP\[HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)\s+\S+\s+(\d+)")
        while len(self.ports) < 2:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the emulator ended early")
            match = pattern.search(line)
            if match:
                self.ports[int(match[2])] = int(match[1])

    def connect(self, port):
        """A connection, once the board listens: the emulator accepts before that, and resets."""
        made = socket.create_connection((LOCAL, self.ports[port]), timeout=LIMIT_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def finish(self):
        """What the board said, after its end."""
        said = self.process.communicate(timeout=LIMIT_SECONDS)[0]
        return self.process.returncode, said


def receive_all(connection, length):
    received = bytearray()
    while len(received) < length:
        some = connection.recv(length - len(received))
        if not some:
            break
        received += some
    return bytes(received)


def await_ready(board):
    """Tries one byte until it comes back: the board needs a moment to listen."""
    for _ in range(200):
        try:
            with board.connect(7) as connection:
                connection.sendall(b"?")
                if receive_all(connection, 1) == b"?":
                    return 1
        except ConnectionError:
            pass
        time.sleep(0.05)
    raise SystemExit("the board does not echo")


def exchange(board, count, seed, failures):
    """Sends messages of many sizes, one after the other; each must come back before the next."""
    draw = random.Random(seed)
    total = 0
    with board.connect(7) as connection:
        for number in range(count):
            size = draw.choice((*EDGES, draw.randrange(1, LARGEST)))
            message = draw.randbytes(size)
            connection.sendall(message)
            if receive_all(connection, size) != message:
                failures.append(f"seed {seed}: message {number} of {size} bytes was damaged")
                return 0
            total += size
    return total


def flood(board, failures):
    """Sends far more than the board can hold, and reads only then: nothing may be lost."""
    message = random.Random(7).randbytes(200_000)
    with board.connect(7) as connection:
        sender = threading.Thread(target=connection.sendall, args=(message,))
        sender.start()
        time.sleep(0.2)
        if receive_all(connection, len(message)) != message:
            failures.append("a stream was damaged that was read late")
        sender.join()
        connection.shutdown(socket.SHUT_WR)
        if connection.recv(1) != b"":
            failures.append("the board did not end the stream after its peer")
    return len(message)


def reset(board):
    """Leaves without a word, with an echo unread."""
    connection = board.connect(7)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.sendall(b"gone")
    connection.close()


def main(image, messages):
    board = Board(image)
    failures = []
    try:
        board.find_ports()
        total = await_ready(board)
        total += exchange(board, messages, 1, failures)
        reset(board)
        sums = []

        def one_of_many(seed):
            sums.append(exchange(board, 50, seed, failures))

        crowd = [threading.Thread(target=one_of_many, args=(seed,)) for seed in (2, 3, 4)]
        for client in crowd:
            client.start()
        for client in crowd:
            client.join()
        total += sum(sums) + flood(board, failures)
        board.connect(9).close()
        status, said = board.finish()
    finally:
        board.process.kill()
    match = re.search(r"connections (\d+) bytes (\d+)$", said, re.MULTILINE)
    # The reset may have come before its four bytes were echoed.
    if status != 0 or match is None or int(match[2]) not in (total, total + 4):
        failures.append(f"the board ended with {status}, expected {total} bytes; it said:\n{said}")
    print(f"{messages + 150} messages, {total} bytes")
    print("\n".join(failures) if failures else "intact")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000))
