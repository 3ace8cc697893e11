#!/usr/bin/env python3
"""The contractions of examples/contractions.cpp in PyTorch, in true fp32 and in bf16: ms for each.

    python3 bench/contractions.py

Needs PyTorch and a GPU. Each time is the least of 5 averages of 20 calls, with a warm L2."""
import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def milliseconds(call, calls=20):
    for _ in range(5):
        call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(5):
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / calls)
    return min(times)


for dtype in (torch.float32, torch.bfloat16):

    def random(*shape):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    def channels_last(*shape):
        return random(*shape).to(memory_format=torch.channels_last)

    X, W, bias = random(16, 1024, 1024), random(16, 1024, 1024), random(1024)
    P, Q = random(1024, 8, 16, 64), random(16, 8, 1024, 64)
    A, B, C = random(2048, 4096), random(4096, 2048), random(2048, 4096)
    R, V = random(4, 1024, 1024), random(1024, 4096)
    G = random(4096, 2048)
    images, filters = channels_last(32, 64, 56, 56), channels_last(128, 64, 3, 3)
    for name, call in {
        "bias_relu": lambda: torch.relu(torch.baddbmm(bias, X, W)),
        "two_sums": lambda: torch.einsum("ibkl,kbjl->ibj", P, Q),
        "transposed": lambda: 2 * torch.matmul(B, A),
        "two_outputs": lambda: torch.relu(torch.matmul(A.t(), C)),
        "relu_of_input": lambda: torch.matmul(torch.relu(R), V),
        "gram": lambda: torch.matmul(G, G.t()),
        "convolution": lambda: torch.nn.functional.conv2d(images, filters, padding=1),
    }.items():
        print(f"{str(dtype)[6:]:9} {name:14} {milliseconds(call):.4f} ms")
