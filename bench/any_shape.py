#!/usr/bin/env python3
"""Any shape: a rung beside cuBLAS and cuBLASLt at random shapes, as the distribution of the ratio to the faster one.

    python3 bench/any_shape.py [--rung fast/best] [--dtype f32] [--shapes 200] [--seed 2026] [--nestsmith FILE]
    python3 bench/any_shape.py --list            only prints the shapes

The extents are log-uniform from 48 to 8192 and multiples of 1, 4, 8 or 64, one of them for each shape; a shape has
2e8 to 2e11 operations. Nothing may be tuned for the shapes of the seed. Needs a GPU."""
import argparse
import json
import math
import random
import subprocess


def shapes_of(seed, count):
    draw, shapes = random.Random(seed), []
    while len(shapes) < count:
        unit = draw.choice((1, 4, 8, 64))
        extents = [max(1, int(48 * (8192 / 48) ** draw.random()) // unit) * unit for _ in range(3)]
        if 2e8 <= 2 * math.prod(extents) <= 2e11:
            shapes.append("x".join(map(str, extents)))
    return shapes


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rung", default="fast/best")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nestsmith", default="build/bin/nestsmith")
    parser.add_argument("--table", help="a kernel table that replaces the one of the program")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rows", help="a file to which the rows of bench are added")
    options = parser.parse_args()
    shapes = shapes_of(options.seed, options.shapes)
    if options.list:
        print(",".join(shapes))
        return
    command = [options.nestsmith, "bench", options.rung, "--dtype", options.dtype, "--rounds", str(options.rounds),
               "--shapes", ",".join(shapes), "--json"]
    if options.table:
        command += ["--table", options.table]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bench:
        try:
            for line in bench.stdout:
                rows.append(json.loads(line))
                if options.rows:  # each row at once: the device may be taken back
                    with open(options.rows, "a") as file:
                        file.write(line)
        except KeyboardInterrupt:
            bench.terminate()
    failed = [row for row in rows if not row.get("peer", True) and "error" in row]
    mine = {"x".join(map(str, row["shape"])): row for row in rows if row.get("peer") is False and "error" not in row}
    ratios = {shape: row["ratio_to_best_peer"] for shape, row in mine.items() if row["ratio_to_best_peer"]}
    if not ratios:
        raise SystemExit("no shape was measured beside a library")
    values = list(ratios.values())
    mean = math.exp(sum(map(math.log, values)) / len(values))
    print(f"{options.rung} {options.dtype}, {rows[-1].get('device', '')}: {len(values)} of {len(shapes)} shapes of seed "
          f"{options.seed}, ratio to the faster of cuBLAS and cuBLASLt")
    print(f"geometric mean {mean:.3f}; quantiles 0 {min(values):.3f}, 5 % {quantile(values, 0.05):.3f}, 25 % "
          f"{quantile(values, 0.25):.3f}, 50 % {quantile(values, 0.5):.3f}, 75 % {quantile(values, 0.75):.3f}, 100 % "
          f"{max(values):.3f}")
    print("the worst ten:")
    for shape in sorted(ratios, key=ratios.get)[:10]:
        print(f"  {ratios[shape]:.3f}  {shape:16}  {mine[shape]['median_ms']:.4f} ms  {mine[shape].get('variant', '')}")
    for row in failed:
        print("failed:", "x".join(map(str, row["shape"])), row["error"])


if __name__ == "__main__":
    main()
