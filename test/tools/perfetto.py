#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a Perfetto trace without any library of Perfetto's and prints what is in it, a line each:

    track UUID NAME
    slice TRACK_NAME SLICE_NAME BEGIN END
    instant TRACK_NAME NAME TIME
    flow FROM_TRACK TO_TRACK

It fails if a packet is malformed, a track is used before it is described, slices of a track do not
nest, times of a track go back, or an arrow ends that never began.
"""

import collections
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: number to list of values."""
    found = collections.defaultdict(list)
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        elif wire == 2:
            length, at = varint(data, at)
            assert at + length <= len(data), "a field goes beyond its message"
            value, at = data[at : at + length], at + length
        else:
            raise AssertionError(f"wire type {wire}")
        found[number].append(value)
    assert at == len(data)
    return found


class Trace:
    def __init__(self):
        self.names = {}
        self.open = collections.defaultdict(list)
        self.latest = {}
        self.flows = {}
        self.lines = []

    def packet(self, packet):
        for descriptor in packet[60]:
            self.describe(fields(descriptor))
        for event in packet[11]:
            self.event(fields(event), packet[8][0])

    def describe(self, descriptor):
        uuid = descriptor[1][0]
        assert uuid not in self.names, f"track {uuid} is described twice"
        if descriptor[3]:
            process = fields(descriptor[3][0])
            self.names[uuid] = process[6][0].decode()
        else:
            assert descriptor[5][0] in self.names, "its parent is not described"
            self.names[uuid] = descriptor[2][0].decode()
        self.lines.append(f"track {uuid} {self.names[uuid]}")

    def event(self, event, time):
        uuid, kind = event[11][0], event[9][0]
        track = self.names[uuid]
        assert time >= self.latest.get(uuid, 0), "time goes back"
        self.latest[uuid] = time
        for flow in event[47]:
            assert flow not in self.flows, "an arrow begins twice"
            self.flows[flow] = track
        for flow in event[48]:
            if flow in self.flows:
                self.lines.append(f"flow {self.flows[flow]} -> {track}")
            else:
                self.lines.append(f"cut {track}")
        if kind == 1:
            self.open[uuid].append((event[23][0].decode(), time))
        elif kind == 2:
            name, begin = self.open[uuid].pop()
            self.lines.append(f"slice {track} {name} {begin} {time}")
        else:
            assert kind == 3, f"an event of type {kind}"
            self.lines.append(f"instant {track} {event[23][0].decode()} {time}")


def main():
    with open(sys.argv[1], "rb") as file:
        whole = fields(file.read())
    assert set(whole) <= {1}, "something that is no packet"
    trace = Trace()
    for packet in whole[1]:
        trace.packet(fields(packet))
    assert not any(trace.open.values()), "a slice never ends"
    print("\n".join(trace.lines))


main()
