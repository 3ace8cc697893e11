#!/usr/bin/env python3
"""What nestsmith says of a rung, beside what this machine's GPU counts under Nsight Compute.

    bench/ncu_compare.py [RUNG]... [--shape MxNxK] [--dtype T] [--gpu NAME] [--json]
                         [--nestsmith PROGRAM] [--ncu PROGRAM]

Figures that nestsmith calls exact must agree; for the others the ratio is shown. docs/counters.md says what each is.
Without --dtype, each rung has its own: f16 for `tensor`.
Exit codes: 0 all exact figures agree, 1 one does not, 2 usage, 4 there is nothing to compare with.
"""
import argparse
import csv
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNGS = ["deep_dive/naive", "deep_dive/coalesced", "deep_dive/shared", "deep_dive/tile1d", "principles/transposed", "principles/padded", "ladder/tile2d",
         "ladder/vectors", "ladder/warps", "tensor/ldmatrix", "tensor/swizzled", "tensor/async2"]
# `run` first checks a result with leading dimensions that are larger than the rows, in at most 6 launches of each
# kernel. Then it times the explained kernel in 30 launches.
LAUNCHES_BEFORE = 12
NO_PERMISSION = """this user may not read the GPU's counters (ERR_NVGPUCTRPERM); one of these helps:
  - run this as root: sudo bench/ncu_compare.py …
  - load the driver with them open to all: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in
    /etc/modprobe.d/, then reboot
  - in a container: start it with --cap-add=SYS_ADMIN"""


class NothingToCompare(Exception):
    """There is no GPU, no profiler, or no permission."""


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **more)


def tool_json(command):
    done = run(command)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def find_ncu(named):
    if named and not shutil.which(named):
        raise NothingToCompare(f"no program {named}")
    if named:
        return named
    places = sorted(glob.glob("/usr/local/cuda*/bin/ncu") + glob.glob("/opt/nvidia/nsight-compute/*/ncu"))
    found = shutil.which("ncu") or (places[-1] if places else None)
    if not found:
        raise NothingToCompare("no ncu in PATH, /usr/local/cuda*/bin or /opt/nvidia/nsight-compute; it comes with a "
                               "CUDA toolkit (package nsight-compute), or name it with --ncu")
    return found


def device(nestsmith):
    """What the driver calls the GPU of this machine."""
    for item in tool_json([nestsmith, "doctor", "--json"]):
        if item["key"] == "gpu" and item["found"]:
            return item["facts"]["name"]
    raise NothingToCompare("there is no GPU here; `nestsmith doctor` says what was looked for")


def hardware(ncu, kernel, metrics, command):
    """{metric: value} of one launch of a kernel."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "ncu.csv")
        done = run([ncu, "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log),
                    "--kernel-name-base", "function", "--kernel-name", kernel,
                    "--launch-skip", str(LAUNCHES_BEFORE), "--launch-count", "1", "--metrics", ",".join(metrics),
                    *command], env={**os.environ, "LC_ALL": "C"})
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    said = text + done.stdout + done.stderr
    if "ERR_NVGPUCTRPERM" in said:
        raise NothingToCompare(NO_PERMISSION)
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 3 or rows[0][0] != "ID":  # names, units, the launch
        raise NothingToCompare(f"{ncu} gave no figures for kernel {kernel}:\n" + "\n".join(said.splitlines()[-20:]))
    return {name: number(value) for name, value in zip(rows[0], rows[2])}


def number(text):
    """None where it is not one: "n/a", or the name of something."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def compare(metric, counted):
    """A row of the table; `agrees` is None where nothing must."""
    row = {key: metric.get(key) for key in ("name", "unit", "kind")}
    row["ours"], row["hardware"], row["agrees"] = metric.get("value"), counted, None
    if row["kind"] == "exact" and row["ours"] is not None and counted is not None:
        # Counts must agree exactly. Averages must agree to the printed precision.
        allowed = 0.5 if metric["name"].endswith(".sum") else 0.01
        row["agrees"] = abs(row["ours"] - counted) <= allowed
    return row


def remark(row):
    if row["ours"] is None or row["hardware"] is None:
        return ""
    if row["agrees"]:
        return "agrees"
    relation = f"{row['ours'] / row['hardware']:.3f} of it" if row["hardware"] else "it has none"
    return f"DIFFERS: {relation}" if row["agrees"] is False else relation


def shown(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def table(rows):
    width = max(len(row["name"]) for row in rows)
    lines = [f"{'metric':<{width}}  {'kind':<8}  {'ours':>18}  {'hardware':>18}"]
    for row in rows:
        lines.append(f"{row['name']:<{width}}  {row['kind']:<8}  {shown(row['ours']):>18}  "
                     f"{shown(row['hardware']):>18}  {remark(row)}".rstrip())
    return "\n".join(lines)


def compare_rung(options, ncu, gpu, rung):
    """The kernels of a rung, with their rows."""
    problem = ["--shape", options.shape] + (["--dtype", options.dtype] if options.dtype else [])
    explained = tool_json([options.nestsmith, "explain", rung, "--gpu", gpu, *problem, "--json"])
    kernels = []
    for kernel in explained["kernels"]:
        metrics = kernel["metrics"]
        names = [metric["name"] for metric in metrics if not metric["name"].startswith("nestsmith__")]
        counted = hardware(ncu, kernel["kernel"], names,
                           [options.nestsmith, "run", rung, "--device", "gpu", *problem])
        kernels.append({"rung": rung, "kernel": kernel["kernel"], "gpu": gpu, "shape": options.shape,
                        "dtype": explained["dtype"],
                        "metrics": [compare(metric, counted.get(metric["name"])) for metric in metrics]})
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog="Without a RUNG: " + ", ".join(RUNGS))
    parser.add_argument("rung", nargs="*", default=RUNGS)
    parser.add_argument("--shape", default="1024x1024x1024")
    parser.add_argument("--dtype", help="default: the one of the rung")
    parser.add_argument("--gpu", help="the listed GPU that this machine's is; default: as the driver calls it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--nestsmith", default=str(ROOT / "build/bin/nestsmith"), metavar="PROGRAM")
    parser.add_argument("--ncu", metavar="PROGRAM")
    options = parser.parse_args()
    if not shutil.which(options.nestsmith):
        parser.error(f"no program {options.nestsmith}; ./run.sh builds it, or name it with --nestsmith")
    kernels = []
    try:
        ncu = find_ncu(options.ncu)
        gpu = options.gpu or device(options.nestsmith)
        for rung in options.rung:
            for kernel in compare_rung(options, ncu, gpu, rung):
                kernels.append(kernel)
                if not options.json:
                    print(f"{rung} {kernel['dtype']} {options.shape} on {gpu}, kernel {kernel['kernel']}\n"
                          f"{table(kernel['metrics'])}\n", flush=True)
    except NothingToCompare as why:
        print(f"ncu_compare: {why}", file=sys.stderr)
        return 4
    if options.json:
        json.dump(kernels, sys.stdout, indent=2)
        print()
    verdicts = [row["agrees"] for kernel in kernels for row in kernel["metrics"] if row["agrees"] is not None]
    print(f"{sum(verdicts)} of {len(verdicts)} exact figures agree", file=sys.stderr)
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
