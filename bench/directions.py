#!/usr/bin/env python3
"""How often the estimate of `explain` has the direction of measured times, for neighbouring rungs.

    bench/directions.py FILE... --gpu H200 [--nestsmith PROGRAM] [--least 5] [--all] [--tutorials NAME…]

FILE is a table of `nestsmith bench --record`, such as schedules/measured/h200.json, or has rows of `bench --json`, one
JSON object a line. A pair is a rung and the one on which it builds, by `nestsmith list --json`, with times of one shape and
type. It is judged if these times differ by more than --least percent. The estimate does not use the measured times. In rows
of `bench`, two rungs with different operands, such as a transposed B, were not measured in turns; --all judges them too.
The rows of libraries are not used.

The exit code is 1 if fewer than 95 % of the pairs of a shape have the right direction.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WANTED = 0.95


def answer(program, *arguments):
    """The JSON that the program prints, or None with the reason on stderr."""
    done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(arguments)}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def measured(paths):
    """{(rung, shape, dtype): row}, the first row of each."""
    rows = {}
    for path in paths:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        if text.startswith("{\n"):  # a table of records
            for record in json.loads(text)["records"]:
                if record["outcome"] == "measured" and record["launch"] == "back-to-back" and not record["cold_l2"]:
                    rows.setdefault((record["rung"], record["shape"], record["dtype"]), record)
            continue
        for line in text.splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(row, dict) and row.get("peer") is False and "median_ms" in row:
                rows.setdefault((row["name"], "x".join(map(str, row["shape"])), row["dtype"]), row)
    return rows


def neighbours(rungs):
    """The pairs of a rung and the one on which it builds."""
    return [(rung["against"], rung["name"]) for rung in rungs if rung.get("against")]


def pairs_to_judge(rows, rungs, least, across):
    """The pairs (key, key) whose times differ by more than `least` percent, and which `bench` measures in turns."""
    for before, after in neighbours(rungs):
        for (rung, shape, dtype), row in rows.items():
            other = rows.get((after, shape, dtype))
            if rung != before or other is None:
                continue
            if not across and row.get("computation") != other.get("computation"):
                continue
            times = sorted([row["median_ms"], other["median_ms"]])
            if times[1] > (1 + least / 100) * times[0]:
                yield (before, shape, dtype), (after, shape, dtype)


def estimates(keys, program, gpu):
    """{key: estimated milliseconds}. `compare` estimates two rungs in one call. It is faster than `explain`, which also
    tries changes of a rung."""
    couples = []
    for (shape, dtype), group in itertools.groupby(sorted(keys, key=lambda key: key[1:]), key=lambda key: key[1:]):
        rungs = [key[0] for key in group]
        couples += [(rungs[n], rungs[min(n + 1, len(rungs) - 1)], shape, dtype) for n in range(0, len(rungs), 2)]

    def estimate(couple):
        first, second, shape, dtype = couple
        said = answer(program, "compare", first, second, "--gpu", gpu, "--shape", shape, "--dtype", dtype)
        return said and {(said[side]["rung"], shape, dtype): 1e3 * sum(kernel["estimated_seconds"]
                                                                       for kernel in said[side]["kernels"])
                         for side in "ab"}
    times = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for both in pool.map(estimate, couples):
            times.update(both or {})
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--nestsmith", default=str(ROOT / "build/bin/nestsmith"), metavar="PROGRAM")
    parser.add_argument("--least", type=float, default=5, metavar="PERCENT")
    parser.add_argument("--all", action="store_true", help="also pairs that were not measured in turns")
    parser.add_argument("--tutorials", nargs="+", metavar="NAME", help="only the pairs of these tutorials")
    options = parser.parse_args()
    listed = answer(options.nestsmith, "list")
    if listed is None:
        return 2
    rows = measured(options.files)
    rungs = [rung for rung in listed["rungs"]
             if not options.tutorials or rung["name"].split("/")[0] in options.tutorials]
    pairs = list(pairs_to_judge(rows, rungs, options.least, options.all))
    times = estimates({key for pair in pairs for key in pair}, options.nestsmith, options.gpu)
    right, wrong = collections.Counter(), collections.defaultdict(list)
    for before, after in pairs:
        if before not in times or after not in times:
            continue
        faster = rows[after]["median_ms"] < rows[before]["median_ms"]
        if faster == (times[after] < times[before]):
            right[before[1]] += 1
        else:
            wrong[before[1]].append((before, after))
    shapes = sorted(set(right) | set(wrong))
    print(f"| {options.gpu} | pairs | right | part |\n| --- | ---: | ---: | ---: |")
    for shape in shapes:
        count = right[shape] + len(wrong[shape])
        print(f"| {shape} | {count} | {right[shape]} | {right[shape] / count:.3f} |")
    for shape in shapes:
        for before, after in wrong[shape]:
            print(f"wrong: {before[0]} to {after[0]}, {shape} {before[2]}: measured {rows[before]['median_ms']:.4g} to "
                  f"{rows[after]['median_ms']:.4g} ms, estimated {times[before]:.4g} to {times[after]:.4g} ms")
    return int(any(right[shape] < WANTED * (right[shape] + len(wrong[shape])) for shape in shapes))


if __name__ == "__main__":
    sys.exit(main())
