#!/usr/bin/env python3
"""The least time of each rung beside what was measured on an H200 (docs/gpu.md), as a table.

    bench/bounds.py [--edge 4096] [--nestsmith PROGRAM]

A least time is of what the compiler is expected to leave of the lowered kernel's operations. Where it is above the
measured one, the compiler left less.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measured(edge):
    """{rung: GFLOP/s} of the first table of docs/gpu.md."""
    rows = {}
    columns = None
    for line in (ROOT / "docs/gpu.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "rung":
            columns = cells
        elif columns and re.fullmatch(r"`[\w/]+`", cells[0]):
            rows[cells[0].strip("`")] = float(cells[columns.index(str(edge))].split(" ")[0].replace(",", ""))
        elif columns and not line.startswith("|"):
            break
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--edge", type=int, default=4096)
    parser.add_argument("--nestsmith", default=str(ROOT / "build/bin/nestsmith"), metavar="PROGRAM")
    options = parser.parse_args()
    edge = options.edge
    print("| rung | least time | by | next | measured | least / measured |\n| --- | ---: | --- | --- | ---: | ---: |")
    for rung, gflops in measured(edge).items():
        done = subprocess.run([options.nestsmith, "explain", rung, "--gpu", "H200", "--shape", f"{edge}x{edge}x{edge}",
                               "--json"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{rung}: {done.stderr}")
        explained = json.loads(done.stdout)
        bounds = sorted(explained["kernels"][0]["bounds_seconds"].items(), key=lambda item: -item[1])
        least, time = 1e3 * explained["least_seconds"], 2e-6 * edge ** 3 / gflops
        print(f"| `{rung}` | {least:.3g} ms | {explained['limiter']} | {bounds[1][0]} | {time:.3g} ms | "
              f"{least / time:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
