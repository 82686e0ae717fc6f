#!/usr/bin/env python3
"""Compiles kernels with Triton, without a GPU, and writes their PTX into a folder: triton_kernels.py FOLDER."""

import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + at, values / tl.sum(values, axis=0), mask=at < columns)


@triton.jit
def layer_norm(x, y, weight, bias, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    result = centred * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(y + row * columns + at, result, mask=inside)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + step + depth[None, :], mask=rows[:, None] < m, other=0.0)
        right = tl.load(b + (step + depth)[:, None] * n + columns[None, :], mask=columns[None, :] < n, other=0.0)
        total = tl.dot(left, right, total)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16), mask=inside)


@triton.jit
def attention(q, k, v, o, document, length, scale, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr):
    """A document mask, element by element."""
    rows = tl.program_id(0) * BQ + tl.arange(0, BQ)
    d = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    own = tl.load(document + rows)
    top = tl.full((BQ,), -1e30, tl.float32)
    total = tl.zeros((BQ,), tl.float32)
    result = tl.zeros((BQ, D), tl.float32)
    for step in range(0, length, BK):
        columns = step + tl.arange(0, BK)
        key = tl.load(k + columns[None, :] * D + d[:, None])
        scores = tl.dot(query, key) * scale
        keep = (own[:, None] == tl.load(document + columns)[None, :]) & (rows[:, None] >= columns[None, :])
        scores = tl.where(keep, scores, -1e30)
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        total = total * shrink + tl.sum(weights, axis=1)
        value = tl.load(v + columns[:, None] * D + d[None, :])
        result = tl.dot(weights.to(tl.float16), value, result * shrink[:, None])
        top = new_top
    tl.store(o + rows[:, None] * D + d[None, :], (result / total[:, None]).to(tl.float16))


F, H, I = "*fp32", "*fp16", "i32"
ROW = {"x": F, "y": F}
# Kernel, types of its arguments, constants, warps.
KERNELS = (
    [(softmax, {**ROW, "columns": I}, {"BLOCK": block}, warps) for block, warps in ((256, 1), (1024, 4), (8192, 4), (16384, 8))]
    + [(layer_norm, {**ROW, "weight": F, "bias": F, "columns": I, "epsilon": "fp32"}, {"BLOCK": block}, warps)
       for block, warps in ((512, 1), (4096, 4), (16384, 4))]
    + [(matmul, {"a": H, "b": H, "c": H, "m": I, "n": I, "k": I}, {"BM": bm, "BN": bn, "BK": bk}, warps)
       for bm, bn, bk, warps in ((64, 64, 32, 4), (128, 128, 32, 4), (128, 256, 64, 8), (256, 128, 64, 4), (128, 256, 64, 4))]
    + [(attention, {"q": H, "k": H, "v": H, "o": H, "document": "*i32", "length": I, "scale": "fp32"}, {"BQ": bq, "BK": bk, "D": d}, warps)
       for bq, bk, d, warps in ((64, 64, 64, 4), (128, 64, 128, 4), (128, 128, 128, 8), (64, 128, 256, 4))]
)  # fmt: skip
ARCHITECTURES = (80, 90, 100)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for architecture in ARCHITECTURES:
        for number, (kernel, types, constants, warps) in enumerate(KERNELS):
            source = ASTSource(fn=kernel, signature={**types, **dict.fromkeys(constants, "constexpr")}, constexprs=constants)
            compiled = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": warps})
            (folder / f"{kernel.__name__}_{number}.sm_{architecture}.ptx").write_text(compiled.asm["ptx"])


if __name__ == "__main__":
    main()
