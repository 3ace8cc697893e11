#!/usr/bin/env python3
"""The file of `emit --dispatch` at random shapes: every element compared with cuBLAS, and the times beside it.

    python3 bench/dispatch.py [--rung fast/best] [--dtype f32] [--gpu H100] [--transposed ab] [--shapes 200]
                              [--seed 2026] [--table FILE] [--rows FILE] [--nestsmith FILE] [--build-only]

Draws the shapes of any_shape.py. NVRTC compiles the kernels, and g++ the host functions, with the CUDA driver below
them, so nvcc is not needed. The products are integers that each type holds exactly, with rows without gaps, and for each
tenth shape also with gaps; all elements must be equal to those of torch.matmul. Then the launch and torch.mm, without
gaps, are captured in CUDA graphs of 20 launches and timed in turns. --rows names the file that any_shape.py --rows
wrote on the same machine: then the times are also compared with those of the rung at each shape. Needs a GPU, PyTorch,
libnvrtc and g++; --build-only needs neither GPU nor PyTorch."""
import argparse
import ctypes
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

from any_shape import quantile, shapes_of

HOST = r"""
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <math.h>
typedef int cudaError_t;
typedef void *cudaStream_t;
struct __nv_bfloat16 { unsigned short bits; };
struct __half { unsigned short bits; };
enum {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorNotSupported = 801,
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern "C" {
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuFuncSetAttribute(void *, int, int);
int cuMemsetD8Async(unsigned long long, unsigned char, size_t, void *);
int cuLaunchKernelEx(const struct DriverLaunch *, void *, void **, void **);
}
struct cudaLaunchAttribute {
  int id, unused;
  union {
    char room[64];
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
};
struct DriverLaunch {
  dim3 grid, block;
  unsigned shared;
  void *stream;
  cudaLaunchAttribute *attributes;
  unsigned count;
};
struct Kernel { const char *name; void *function; };
static int last_error = 0;
static int cudaGetLastError() { int error = last_error; last_error = 0; return error; }
static int cudaFuncSetAttribute(Kernel &kernel, int attribute, int value) {
  return cuFuncSetAttribute(kernel.function, attribute, value);
}
static int cudaMemsetAsync(void *to, int byte, size_t bytes, void *stream) {
  return cuMemsetD8Async((unsigned long long)to, (unsigned char)byte, bytes, stream);
}
// A long long argument stands for an int parameter: the driver reads its low bytes.
template <class... Arguments>
static void launch(Kernel &kernel, dim3 grid, dim3 block, unsigned shared, void *stream, Arguments... arguments) {
  void *list[] = {&arguments...};
  last_error = cuLaunchKernel(kernel.function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, list, 0);
}
template <class... Arguments>
static void launch_early(dim3 grid, dim3 block, unsigned shared, void *stream, Kernel &kernel, Arguments... arguments) {
  void *list[] = {&arguments...};
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  const DriverLaunch of = {grid, block, shared, stream, &early, 1};
  last_error = cuLaunchKernelEx(&of, kernel.function, list, 0);
}
"""
# Of <cuda.h>, what a file with bulk copies needs.
TENSOR_MAPS = r"""
struct alignas(64) TensorMap { unsigned long long words[16]; };
typedef TensorMap CUtensorMap;
typedef unsigned long long cuuint64_t;
typedef unsigned cuuint32_t;
typedef int CUtensorMapDataType, CUtensorMapSwizzle, CUresult, cudaDriverEntryPointQueryResult;
enum { CUDA_SUCCESS = 0, cudaEnableDefault = 0, cudaDriverEntryPointSuccess = 0 };
enum {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4
};
enum { CU_TENSOR_MAP_INTERLEAVE_NONE = 0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };
enum { CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B };
enum { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 };
extern "C" int cuTensorMapEncodeTiled(TensorMap *, int, unsigned, void *, const cuuint64_t *, const cuuint64_t *,
                                      const cuuint32_t *, const cuuint32_t *, int, int, int, int);
static int cudaGetDriverEntryPoint(const char *, void **function, int, int *found) {
  *function = (void *)&cuTensorMapEncodeTiled;
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
"""


def library(pattern):
    folders = [os.environ.get("NESTSMITH_CUDA_PATH", "")] + [os.path.join(path, "nvidia", "*", "lib") for path in sys.path]
    folders += ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"]
    for folder in filter(None, folders):
        if found := sorted(glob.glob(os.path.join(folder, pattern))):
            return found[0]
    raise SystemExit(f"no {pattern} was found; set NESTSMITH_CUDA_PATH to its folder")


def cubin_of(source, arch):
    path = library("libnvrtc.so*")
    nvrtc, program, size = ctypes.CDLL(path), ctypes.c_void_p(), ctypes.c_size_t()
    options = [f"--gpu-architecture={arch}".encode()]
    for folder in (os.path.join(os.path.dirname(path), "..", "include"), "/usr/local/cuda/include",
                   *(found for p in sys.path for found in glob.glob(os.path.join(p, "nvidia", "*", "include")))):
        if os.path.isdir(folder):
            options.append(f"-I{folder}".encode())
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"dispatch.cu", 0, None, None)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit(log.value.decode())
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cubin.raw


def host_library(source, kernels, folder):
    """The host functions, which stand in the last part that NVRTC leaves out."""
    host = source[source.rindex("#ifndef __CUDACC_RTC__\n"):]
    host = re.sub(r"(\w+)<<<(.*?)>>>\(", lambda m: f"launch({m[1]}, {m[2]}, ", host, flags=re.DOTALL)
    text = HOST + (TENSOR_MAPS if "TensorMap" in host else "")
    text += "".join(f'static Kernel {name} = {{"{name}", nullptr}};\n' for name in kernels)
    text += 'extern "C" void set_kernel(const char *name, void *function) {\n  for (Kernel *kernel : {'
    text += ", ".join("&" + name for name in kernels)
    text += "})\n    if (!strcmp(kernel->name, name))\n      kernel->function = function;\n}\n" + host
    path = os.path.join(folder, "dispatch")
    with open(path + ".cpp", "w") as file:
        file.write(text)
    subprocess.run(["g++", "-std=c++17", "-O2", "-fPIC", "-shared", path + ".cpp", "-o", path + ".so"], check=True)
    return path + ".so"


def built(options, folder):
    command = [options.nestsmith, "emit", options.rung, "--dispatch", "--gpu", options.gpu, "--dtype", options.dtype,
               "--name", "product", "--json"]
    if options.transposed:
        command += ["--transposed", options.transposed]
    if options.table:
        command += ["--table", options.table]
    emitted = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    print(f"{len(emitted['choices'])} kernels, predicted {emitted['predicted_loss_mean']:.3f} of the time of the best "
          f"points in the mean, {emitted['predicted_loss_worst']:.3f} at worst", flush=True)
    return emitted, cubin_of(emitted["source"], emitted["arch"]), host_library(emitted["source"], emitted["kernels"], folder)


class Product:
    def __init__(self, emitted, cubin, path, torch):
        torch.zeros(1, device="cuda")  # makes the context
        driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
        self.host, self.torch = ctypes.CDLL(path), torch
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(driver.cuModuleLoadData(ctypes.byref(module), cubin))
        for name in emitted["kernels"]:
            self.check(driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
            self.host.set_kernel(name.encode(), function)
        self.host.product_workspace_bytes.restype = ctypes.c_size_t
        self.host.product_requirement.restype = ctypes.c_char_p
        self.has_workspace = any("_in_" in choice["name"] for choice in emitted["choices"])
        # One workspace for all shapes. Only its counters have to be zero.
        self.memory = torch.full((64 << 20,), 90, dtype=torch.uint8, device="cuda")
        self.memory[:32768] = 0

    @staticmethod
    def check(error):
        if error:
            raise SystemExit(f"the CUDA driver returned {error}")

    def call(self, a, b, c, m, n, k):
        """A function that launches C = A*B on the current stream. The operands are as they are stored."""
        sizes = [ctypes.c_longlong(x) for x in (m, n, k, a.stride(0), b.stride(0), c.stride(0))]
        pointers = [ctypes.c_void_p(x.data_ptr()) for x in (a, b, c)]
        room = []
        if self.has_workspace:
            bytes_needed = self.host.product_workspace_bytes(*sizes)
            if bytes_needed > self.memory.numel():
                raise SystemExit(f"{m}x{n}x{k}: {bytes_needed} bytes of workspace")
            room = [ctypes.c_void_p(self.memory.data_ptr()), ctypes.c_size_t(bytes_needed)]
        if why := self.host.product_requirement(*pointers, *sizes, *room):
            raise SystemExit(f"{m}x{n}x{k}: {why.decode()}")
        scalars = [ctypes.c_float(1), ctypes.c_float(0)]
        return lambda: self.check(self.host.product_launch(
            *pointers, *sizes, *scalars, *room, ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)))


def graph_of(torch, call, launches=20):
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    stream.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(launches):
            call()
    return graph, launches


def ms_of(torch, graph, launches):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / launches


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rung", default="fast/best")
    parser.add_argument("--dtype", default="f32", choices=("f32", "f16", "bf16"))
    parser.add_argument("--gpu", default="H100")
    parser.add_argument("--transposed", default="", choices=("", "a", "b", "ab"))
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--table", help="a kernel table that replaces the one of the program")
    parser.add_argument("--rows", help="the rows that any_shape.py --rows wrote for the rung on this machine")
    parser.add_argument("--nestsmith", default="build/bin/nestsmith")
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        emitted, cubin, path = built(options, folder)
        if options.build_only:
            print(f"built {len(cubin)} bytes of CUBIN and {os.path.getsize(path)} bytes of host functions")
            return
        import torch
        torch.backends.cuda.matmul.allow_tf32 = False
        product = Product(emitted, cubin, path, torch)
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[options.dtype]
    of_rung = {}
    if options.rows:
        with open(options.rows) as file:
            for row in map(json.loads, file):
                if row.get("peer") is False and "median_ms" in row:
                    of_rung["x".join(map(str, row["shape"]))] = row["median_ms"]
    ratios, of_best, wrong = {}, {}, []
    for number, shape in enumerate(shapes_of(options.seed, options.shapes)):
        m, n, k = map(int, shape.split("x"))
        right = True
        for gap in (3, 0) if number % 10 == 9 else (0,):  # the last one is timed

            def rows(height, width, of):
                wide = torch.randint(-1, 2, (height, width + gap), device="cuda", dtype=torch.int8).to(of)
                return wide[:, :width]
            stored_a = rows(k, m, dtype) if "a" in options.transposed else rows(m, k, dtype)
            stored_b = rows(n, k, dtype) if "b" in options.transposed else rows(k, n, dtype)
            a = stored_a.T if "a" in options.transposed else stored_a
            b = stored_b.T if "b" in options.transposed else stored_b
            c = torch.full((m, n + gap), 7.0, device="cuda", dtype=torch.float32)
            call = product.call(stored_a, stored_b, c, m, n, k)
            call()
            # Sums of at most 8192 terms of -1, 0 and 1 are exact in f32.
            expected = torch.matmul(a.float(), b.float())
            right = right and torch.equal(c[:, :n], expected) and bool((c[:, n:] == 7).all())
        if not right:
            wrong.append(shape)
            print(f"WRONG {shape}", flush=True)
            continue
        result = torch.empty((m, n), device="cuda", dtype=dtype)
        graphs = [graph_of(torch, call), graph_of(torch, lambda: torch.mm(a, b, out=result))]
        times = [[], []]
        for _ in range(7):
            for of, graph in zip(times, graphs):
                of.append(ms_of(torch, *graph))
        mine, peer = map(statistics.median, times)
        ratios[shape] = peer / mine
        if shape in of_rung:
            of_best[shape] = of_rung[shape] / mine
        print(f"{shape:16} {mine:.4f} ms, cuBLAS {peer:.4f} ms, {peer / mine:.3f}" +
              (f", of {options.rung} {of_best[shape]:.3f}" if shape in of_best else ""), flush=True)
    for title, values in (("cuBLAS by torch.mm", ratios), (options.rung, of_best)):
        if values:
            mean = math.exp(statistics.fmean(map(math.log, values.values())))
            print(f"{len(values)} shapes, speed relative to {title}: geometric mean {mean:.3f}; quantiles 0 "
                  f"{min(values.values()):.3f}, 5 % {quantile(values.values(), 0.05):.3f}, 50 % "
                  f"{quantile(values.values(), 0.5):.3f}, 100 % {max(values.values()):.3f}")
    if wrong:
        raise SystemExit(f"{len(wrong)} shapes are wrong: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
