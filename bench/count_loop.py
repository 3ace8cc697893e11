#!/usr/bin/env python3
"""Count the instructions of the hottest loop of a kernel. Needs no GPU.

    bench/count_loop.py [--arch sm_90] [--nvcc-flag FLAG]... [--json] FILE...

FILE is a CUBIN, or a .cu that nvcc compiles. The hottest loop is the span of a backward branch with the most
FFMA; it is counted as the compiler laid it out, unrolled as it is, so compare the instructions per FFMA.
Loops in it count once, whatever their trip counts.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

INSTRUCTION_BYTES = 16  # on sm_70 and later
FFMA, BRANCHES = 0x23, (0x947, 0x547)
GROUPS = {  # by the low 8 bits of the opcode
    "ffma": {FFMA},
    "global": {0x81, 0x86},  # LDG, STG
    "shared": {0x84, 0x88},  # LDS, STS
    "barrier": {0x1D},
}


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


class Cubin:
    """The code sections of an ELF file for a GPU."""

    def __init__(self, data):
        if data[:4] != b"\x7fELF":
            raise ValueError("not a CUBIN: it does not begin with the magic number of ELF")
        section_table = struct.unpack_from("<Q", data, 0x28)[0]
        flags = struct.unpack_from("<I", data, 0x30)[0]
        entry_size, entries, names_index = struct.unpack_from("<HHH", data, 0x3A)
        self.sm = (flags >> 8) & 0xFF
        self.kernels = {}
        headers = []
        for n in range(entries):
            name, _, _, _, offset, size = struct.unpack_from("<IIQQQQ", data, section_table + n * entry_size)
            headers.append((name, offset, size))
        _, names_at, _ = headers[names_index]
        for name, offset, size in headers:
            text = data[names_at + name:data.index(b"\0", names_at + name)].decode()
            if text.startswith(".text."):
                self.kernels[text[len(".text."):]] = data[offset:offset + size]

    def branch_target(self, at, low, high):
        """The branch offset counts from the next instruction: in bytes up to sm_8x, in words of 4 from sm_90 on,
        where its low 8 bits stand apart from the others."""
        if self.sm >= 90:
            words = signed((high & 0x3FFFF) << 30 | low >> 34, 48) << 8 | (low >> 16 & 0xFF)
            offset = 4 * words
        else:
            offset = signed((high & 0x3FFFF) << 32 | low >> 32, 50)
        return at + INSTRUCTION_BYTES + offset

    def hottest_loop(self, code):
        """Opcodes of the loop with the most FFMA; empty where no loop has one."""
        opcodes, loops = [], []
        for at in range(0, len(code) - INSTRUCTION_BYTES + 1, INSTRUCTION_BYTES):
            low, high = struct.unpack_from("<QQ", code, at)
            opcodes.append(low & 0xFF)
            if low & 0xFFF in BRANCHES:
                target = self.branch_target(at, low, high)
                if 0 <= target < at:
                    loops.append((target // INSTRUCTION_BYTES, at // INSTRUCTION_BYTES + 1))
        bodies = [opcodes[begin:end] for begin, end in loops]
        best = max(bodies, key=lambda body: body.count(FFMA), default=[])
        return best if FFMA in best else []


def compile_cu(path, arch, flags):
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "kernel.cubin"
        subprocess.run(["nvcc", "-cubin", f"-arch={arch}", *flags, "-o", cubin, path], check=True)
        return cubin.read_bytes()


def count(path, arch, flags):
    """A row for each kernel of a file."""
    data = compile_cu(path, arch, flags) if path.suffix == ".cu" else path.read_bytes()
    cubin = Cubin(data)
    for name, code in cubin.kernels.items():
        body = cubin.hottest_loop(code)
        row = {"file": str(path), "kernel": name, "sm": cubin.sm, "instructions": len(body)}
        for group, opcodes in GROUPS.items():
            row[group] = sum(opcode in opcodes for opcode in body)
        row["per_ffma"] = round(len(body) / row["ffma"], 3) if row["ffma"] else None
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--nvcc-flag", action="append", default=[], metavar="FLAG")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = [row for path in arguments.files for row in count(path, arguments.arch, arguments.nvcc_flag)]
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    columns = ["instructions", "ffma", "per_ffma", "global", "shared", "barrier"]
    width = max(len(row["file"]) for row in rows)
    print(" " * width, *(f"{c:>12}" for c in columns))
    for row in rows:
        print(f"{row['file']:<{width}}", *(f"{row[c] if row[c] is not None else '-':>12}" for c in columns))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"count_loop: {error}")
