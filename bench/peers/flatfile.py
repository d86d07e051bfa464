"""flatfile.py - reads graph.txt and data.bin, and times runs, for runners written in Python."""
import os
import time

import numpy as np


class Node:
    def __init__(self, words):
        self.op, self.output, flat, count = words[0], words[1], words[2], int(words[3])
        self.inputs = words[4:4 + count]
        self.shape = [int(w) for w in words[5 + count:]]
        self.attributes = dict(part.split("=") for part in flat.split(";")) if flat != "-" else {}

    def number(self, key, otherwise=0):
        """An attribute's first number."""
        return float(self.attributes.get(key, str(otherwise)).split(",")[0])


class Flat:
    def __init__(self, folder):
        data = np.fromfile(os.path.join(folder, "data.bin"), np.uint8)
        with open(os.path.join(folder, "numerics"), encoding="ascii") as file:
            self.numerics = file.read().strip()
        self.inputs, self.weights, self.nodes, self.output = {}, {}, [], None
        with open(os.path.join(folder, "graph.txt"), encoding="ascii") as file:
            for line in file:
                kind, *words = line.split()
                if kind == "node":
                    self.nodes.append(Node(words))
                elif kind == "output":
                    self.output, self.type = words[0], np.dtype(words[1])
                    self.shape = [int(w) for w in words[4:]]
                else:
                    at, shape = int(words[2]), [int(w) for w in words[4:]]
                    count = int(np.prod(shape)) * np.dtype(words[1]).itemsize
                    values = data[at:at + count].view(words[1]).reshape(shape)
                    (self.inputs if kind == "input" else self.weights)[words[0]] = values

    def users(self, name):
        return [n for n in self.nodes if name in n.inputs]


def timed(run, warm, budget, capacity=20000):
    """As peer_time of runner.h; a loop in Python costs about 0.1 us a run."""
    clock = time.perf_counter_ns
    start = clock()
    while True:
        run()
        if clock() - start >= warm:
            break
    samples, begin = [], clock()
    before = begin
    while len(samples) < capacity and (not samples or before - begin < budget):
        run()
        after = clock()
        samples.append(after - before)
        before = after
    return samples
