# SPDX-License-Identifier: Apache-2.0
"""Medians of the samples, and the documents that show them.

A document is text with parts that are generated: what stands between `<!-- bench: NAME -->` and
`<!-- bench: end -->` is replaced, everything else is written by hand and stays.
"""

import os
import re
import statistics
import subprocess
import sys

from . import builds, matrix, plot

RESULTS = os.path.join(builds.ROOT, "bench", "results.tsv")
PARTIAL = os.path.join(builds.OUT, "results.tsv")
DOCUMENT = os.path.join(builds.ROOT, "docs", "benchmarks.md")
README = os.path.join(builds.ROOT, "README.md")
PLOTS = os.path.join(builds.ROOT, "docs", "plots")
NOTES = os.path.join(builds.PEERS, "notes.tsv")

UNITS = {"ns": "ns", "ms": "ms", "bytes": "B", "rps": "/s", "cpu_us": "µs"}
COLUMNS = ["limit", "boost_fiber", "libst", "tokio", "go", "erlang", "caf", "libev", "libuv"]


# ---- figures ----

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
        name, _, variant = peer.partition(":")
        metric = f"{metric}_{variant}" if variant else metric
        values.setdefault((bench, name, int(cores), metric), []).append(float(value))
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


class Figures:
    """The medians, by bench, peer, cores and metric."""

    def __init__(self, summary):
        self.medians = {key: figures[0] for key, figures in summary.items()}

    def get(self, bench, peer, cores, metric):
        return self.medians.get((bench, peer, cores, metric))

    def peers(self, bench, cores, metric):
        """{peer: median} of the peers, without ours and the limit."""
        return {key[1]: value for key, value in self.medians.items()
                if (key[0], key[2], key[3]) == (bench, cores, metric)
                and key[1] not in ("orrery", "limit")}

    def best(self, bench, cores, metric):
        """(peer, median) of the best peer, or None."""
        peers = self.peers(bench, cores, metric)
        if not peers:
            return None
        choose = max if metric == "rps" else min
        name = choose(peers, key=peers.get)
        return name, peers[name]


# ---- goals ----

def with_variant(metric, variant):
    """The metric of a variant, as the programs of the peers name it."""
    return metric if variant is None else f"{metric}_{variant}"


def judge(figures, bench, goal):
    """(bound, ours, whether it is met) of a goal; None if a figure is missing."""
    metric = goal.metric or bench.metric
    ours = figures.get(bench.name, "orrery", goal.cores, with_variant(metric, goal.variant))
    if goal.peer is None:
        reference = 1.0
    elif goal.peer in goal.OURS:
        reference = figures.get(bench.name, "orrery", 1,
                                with_variant(metric, goal.OURS[goal.peer]))
    elif goal.peer == "best":
        best = figures.best(bench.name, goal.cores, metric)
        reference = best[1] if best else None
    else:
        reference = figures.get(bench.name, goal.peer, goal.cores, metric)
    if ours is None or reference is None:
        return None
    bound = goal.factor * reference
    if metric == "bytes":
        # A fraction of a byte is the few other pages that a process touches meanwhile.
        ours = round(ours)
    return bound, ours, ours >= bound if goal.at_least else ours <= bound


def verdict(judged, goal):
    if judged is None:
        return "not measured"
    bound, ours, is_met = judged
    if is_met:
        return "met"
    factor = bound / ours if goal.at_least else ours / bound
    return f"missed, {factor:.2f} times the bound"


# ---- texts ----

def show(value, metric):
    """A figure with as many digits as it deserves."""
    if value is None:
        return ""
    if metric == "rps":
        return f"{value / 1000:,.0f} k/s"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {UNITS.get(metric, metric)}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def is_of_the_table(bench):
    return not bench.name.startswith(("growth_", "workers_", "virtual_"))


def ratio_text(figures, bench, cores, metric):
    ours = figures.get(bench.name, "orrery", cores, metric)
    best = figures.best(bench.name, cores, metric)
    if ours is None or best is None:
        return ""
    ratio = ours / best[1]
    return f"{ratio:.2f} × {best[0]}"


def rows_of(figures, cores):
    """The rows of the table for so many cores: (bench, metric)."""
    for bench in matrix.BENCHES:
        if is_of_the_table(bench) and cores in bench.runs:
            yield bench, bench.metric
            if bench.program == "tcp_echo":
                yield bench, "cpu_us"


def value_table(figures, cores):
    rows = list(rows_of(figures, cores))
    names = [name for name in COLUMNS
             if any(figures.get(bench.name, name, cores, metric) is not None
                    for bench, metric in rows)]
    lines = []
    for bench, metric in rows:
        ours = show(figures.get(bench.name, "orrery", cores, metric), metric)
        lines.append([f"`{bench.name}`" + (", server" if metric == "cpu_us" else ""),
                      f"**{ours}**", ratio_text(figures, bench, cores, metric)]
                     + [show(figures.get(bench.name, name, cores, metric), metric)
                        for name in names])
    return table(["bench", "orrery", "to the best peer"] + names, lines)


def variant_table(figures):
    rows = []
    for (bench, peer, cores, metric), value in figures.medians.items():
        base, _, variant = metric.rpartition("_")
        if base in UNITS and variant in ("fiber", "actor", "worker", "futex"):
            first = figures.get(bench, peer, cores, base)
            rows.append([f"`{bench}`", peer, str(cores), variant, show(value, base),
                         show(first, base)])
    return table(["bench", "who", "cores", "variant", "figure", "first choice"], rows)


def goal_table(figures):
    rows = []
    notes = read_notes()
    for bench in matrix.BENCHES:
        for goal in bench.goals:
            metric = goal.metric or bench.metric
            judged = judge(figures, bench, goal)
            word = verdict(judged, goal)
            if word.startswith("missed") and bench.name in notes:
                word += ": " + notes[bench.name]
            bound = show(judged[0], metric) if judged else ""
            ours = show(judged[1], metric) if judged else ""
            what = f"`{bench.name}`" + (", 2 cores" if goal.cores == 2 else "")
            what += ", server" if metric == "cpu_us" else ""
            what += f", {goal.variant}" if goal.variant else ""
            rows.append([what, goal.text(UNITS[metric]), bound, ours, word])
    return table(["bench", "goal", "bound", "ours", "verdict"], rows)


def read_notes():
    """{bench: why its goal is missed and what was tried}."""
    if not os.path.exists(NOTES):
        return {}
    with open(NOTES, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def work_table():
    return table(["bench", "work; one operation"],
                 [[f"`{bench.name}`", bench.work] for bench in matrix.BENCHES
                  if is_of_the_table(bench)])


def growth_table(figures):
    rows = [[operation, things]
            + [show(figures.get(f"{name}_{size}", "orrery", 1, "ns"), "ns")
               for size in matrix.SIZES]
            for name, operation, things in matrix.GROWTH]
    return table(["operation", "objects"] + [f"{size:,}" for size in matrix.SIZES], rows)


def workers_table(figures):
    rows = []
    for name, work, _ in matrix.WORKERS:
        one = figures.get(name, "orrery", 1, "ns")
        two = figures.get(name, "orrery", 2, "ns")
        ratio = f"{one / two:.2f}" if one and two else ""
        rows.append([work, show(one, "ns"), show(two, "ns"), ratio])
    return table(["work", "one worker", "two workers", "speed-up"], rows)


def virtual_table(figures):
    """Counts per piece of work in the simulator, by workers."""
    names = {"steals": "steals", "transfers": "line transfers", "lock_waits": "lock waits",
             "share": "busiest worker, of an even share"}
    rows = []
    for name, work in matrix.VIRTUAL:
        for metric in matrix.VIRTUAL_METRICS:
            values = [figures.get(f"{name}_{workers}", "virtual", 1, metric)
                      for workers in matrix.VIRTUAL_WORKERS]
            rows.append([work if metric == "steals" else "", names[metric]]
                        + ["" if value is None else f"{value:.2f}" for value in values])
    return table(["work", "per piece"] + [f"{workers} workers"
                                          for workers in matrix.VIRTUAL_WORKERS], rows)


def first_line(command):
    try:
        result = subprocess.run(command, check=False, text=True, capture_output=True)
    except OSError:
        return ""
    return (result.stdout.splitlines() or [""])[0].strip()


def machine_text():
    """The processor and the versions of the peers."""
    model = ""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    packages = ["golang-go", "erlang-base", "librust-tokio-dev", "libuv1-dev", "libev-dev",
                "libst-dev", "libcaf-dev", "libboost-fiber-dev"]
    versions = [f"{name} {version}" for name in packages
                if (version := first_line(["dpkg-query", "-W", "-f=${Version}", name]))]
    return (f"{os.cpu_count()} processors, {model}, Linux {os.uname().release}; "
            f"{first_line(['gcc', '--version'])}; {first_line(['rustc', '--version'])}; "
            f"Debian's {', '.join(versions)}.")


def short_table(figures):
    """For the README: ours beside the best peer, one core."""
    rows = []
    for bench, metric in rows_of(figures, 1):
        best = figures.best(bench.name, 1, metric)
        ours = figures.get(bench.name, "orrery", 1, metric)
        if ours is not None and best is not None and metric != "cpu_us":
            rows.append([f"`{bench.name}`", show(ours, metric),
                         f"{best[0]} {show(best[1], metric)}",
                         show(figures.get(bench.name, "go", 1, metric), metric),
                         f"{ours / best[1]:.2f}"])
    return table(["bench, 1 core", "Orrery", "best peer", "Go", "Orrery / best"], rows)


# ---- plots ----

def plot_rows(figures, cores):
    rows = []
    for bench, metric in rows_of(figures, cores):
        ours = figures.get(bench.name, "orrery", cores, metric)
        if ours is None:
            continue
        peers = {}
        for name in COLUMNS:
            value = figures.get(bench.name, name, cores, metric)
            if value is not None:
                ratio = ours / value if metric == "rps" else value / ours
                peers[name] = (ratio, show(value, metric))
        label = bench.name + (", CPU" if metric == "cpu_us" else "")
        rows.append((label, show(ours, metric), peers))
    return rows


def write_plots(figures):
    os.makedirs(PLOTS, exist_ok=True)
    texts = {
        "one_core.svg": plot.ratios(
            "What the same work costs, in multiples of Orrery's cost: one core, further right is "
            "dearer", plot_rows(figures, 1), "Cost of each bench relative to Orrery on one core"),
        "two_cores.svg": plot.ratios(
            "The same on two cores", plot_rows(figures, 2),
            "Cost of each bench relative to Orrery on two cores"),
    }
    curves = {}
    for name, operation, things in matrix.GROWTH:
        points = [(size, figures.get(f"{name}_{size}", "orrery", 1, "ns"))
                  for size in matrix.SIZES]
        points = [point for point in points if point[1] is not None]
        if points:
            curves[f"{operation}: {things}"] = points
    if curves:
        texts["growth.svg"] = plot.growth(
            "How the cost of one operation grows with the number of objects", curves,
            "Nanoseconds per operation among 1,000 to 1,000,000 objects")
    for name, content in texts.items():
        with open(os.path.join(PLOTS, name), "w", encoding="utf-8") as file:
            file.write(content)


# ---- documents ----

def fill(path, parts):
    """Replaces the generated parts of a document."""
    with open(path, encoding="utf-8") as file:
        content = file.read()
    for name, body in parts.items():
        pattern = re.compile(rf"(<!-- bench: {name} -->\n).*?(<!-- bench: end -->)", re.DOTALL)
        content = pattern.sub(lambda match, body=body: match[1] + body + "\n" + match[2], content)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def met_line(figures):
    verdicts = [verdict(judge(figures, bench, goal), goal)
                for bench in matrix.BENCHES for goal in bench.goals]
    met = verdicts.count("met")
    return f"{met} of {len(verdicts)} goals are met."


def write_all(samples_path):
    summary = summarize(read_samples(samples_path))
    if not summary:
        sys.exit("bench/peers/run: no samples")
    write_tsv(summary, RESULTS)
    write_documents(summary)


def write_documents(summary):
    figures = Figures(summary)
    write_plots(figures)
    fill(DOCUMENT, {"machine": machine_text(), "work": work_table(),
                    "one core": value_table(figures, 1), "two cores": value_table(figures, 2),
                    "variants": variant_table(figures), "goals": goal_table(figures),
                    "met": met_line(figures), "growth": growth_table(figures),
                    "workers": workers_table(figures), "virtual": virtual_table(figures)})
    fill(README, {"short": short_table(figures)})
    print(met_line(figures))
    print(f"written: {os.path.relpath(RESULTS, builds.ROOT)}, "
          f"{os.path.relpath(DOCUMENT, builds.ROOT)}, {os.path.relpath(PLOTS, builds.ROOT)}")


def write_partial(samples_path):
    summary = summarize(read_samples(samples_path))
    write_tsv(summary, PARTIAL)
    with open(PARTIAL, encoding="utf-8") as file:
        sys.stdout.write(file.read())
    figures = Figures(summary)
    for bench in matrix.BENCHES:
        for cores in bench.runs:
            ratio = ratio_text(figures, bench, cores, bench.metric)
            if ratio:
                print(f"# {bench.name}, {cores} core{'s' if cores > 1 else ''}: {ratio}")
