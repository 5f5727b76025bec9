# SPDX-License-Identifier: Apache-2.0
"""Medians of the samples, and the documents that show them."""

import os
import statistics
import sys

from . import builds, matrix, plot

RESULTS = os.path.join(builds.ROOT, "bench", "results.tsv")
PARTIAL = os.path.join(builds.OUT, "results.tsv")


def read_samples(path):
    """Rows of (round, bench, peer, cores, metric, value), all text."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        rows = [tuple(line.rstrip("\n").split("\t")) for line in file]
    return [row for row in rows if len(row) == 6]


def summarize(samples):
    """{(bench, peer, cores, metric): (median, min, max)}, in the order of the matrix."""
    values = {}
    for _, bench, peer, cores, metric, value in samples:
        values.setdefault((bench, peer, int(cores), metric), []).append(float(value))
    order = {bench.name: index for index, bench in enumerate(matrix.BENCHES)}
    keys = sorted(values, key=lambda key: (order.get(key[0], 999), key[2], key[3], key[1]))
    return {key: (statistics.median(values[key]), min(values[key]), max(values[key]))
            for key in keys}


def write_tsv(summary, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("bench\tpeer\tcores\tmetric\tmedian\tmin\tmax\n")
        for (bench, peer, cores, metric), figures in summary.items():
            file.write(f"{bench}\t{peer}\t{cores}\t{metric}\t"
                       + "\t".join(f"{figure:.2f}" for figure in figures) + "\n")


def write_partial(samples_path):
    summary = summarize(read_samples(samples_path))
    write_tsv(summary, PARTIAL)
    with open(PARTIAL, encoding="utf-8") as file:
        sys.stdout.write(file.read())
