"""What do long sequences and deep networks cost? Prints the tables of docs/long_sequences.md.

CPU time, and the temporary memory that XLA plans, of compiled gradients:

- of LSH attention and of full attention (one head at a time), for each token;
- of attention by blocks beside attention over all pairs at once;
- of attention in linear time beside that over all pairs;
- of one vector through a sparse feed-forward block, beside a dense one;
- of reversible blocks and of the same blocks plainly, by their number.

Run it by itself: `.venv/bin/python benchmarks/long_sequences.py`.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy

import weft
from weft import layers as tl
from weft.fastmath import numpy as np

KEY = numpy.array([0, 1], numpy.uint32)
ROUNDS = 7


def measured(loss: Callable[..., Any], *args: Any) -> tuple[Callable[[], float], int]:
    """What runs the gradient once and returns its CPU seconds, and the bytes it needs."""
    step = weft.jit(weft.grad(loss, argnums=tuple(range(len(args)))))
    needed = step.lower(*args).compile().memory_analysis().temp_bytes

    def run() -> float:
        begun = time.process_time()
        weft.block_until_ready(step(*args))
        return time.process_time() - begun

    run()
    return run, needed


def of_layer(layer: tl.Layer, x: Any) -> tuple[Callable[[], float], int]:
    """The same of a layer's sum of cosines, by its weights and inputs."""
    weights, state = layer.init(x, rng=KEY)

    def loss(weights: Any, x: Any) -> Any:
        outputs, _ = layer.pure_fn(x, weights, state, KEY)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return sum(np.sum(np.cos(y)) for y in outputs)

    return measured(loss, weights, x)


def attention_over_buckets() -> None:
    options = {"n_heads": 2, "d_qk": 32, "d_v": 32, "causal": True, "n_parallel_heads": 1}
    kinds = {
        "LSH": lambda: tl.LSHSelfAttention(chunk_len=64, n_hashes=2, **options),
        "full": lambda: tl.SelfAttention(**options),
    }
    cases = [("LSH", 4**k) for k in range(5, 9)] + [("full", 1024), ("full", 4096)]
    measures = {}
    for name, length in cases:
        x = numpy.random.default_rng(0).normal(size=(1, length, 64)).astype(numpy.float32)
        measures[name, length] = of_layer(kinds[name](), x)
    micros: dict[Any, list[float]] = {case: [] for case in cases}
    for _ in range(ROUNDS):  # all lengths in turn, on a machine that others may use
        for (name, length), (run, _) in measures.items():
            calls = max(1, 16384 // length)
            seconds = sum(run() for _ in range(calls))
            micros[name, length].append(seconds / calls / length * 1e6)
    print("kind, tokens: µs, bytes a token")
    for (name, length), (_, needed) in measures.items():
        taken = statistics.median(micros[name, length])
        print(f"{name}, {length}: {taken:.1f}, {needed // length}")
    pairs = zip(micros["LSH", 65536], micros["LSH", 1024], strict=True)
    print(f"65536 ÷ 1024: {statistics.median(long / short for long, short in pairs):.2f}")


def attention_by_blocks() -> None:
    print("tokens: time by blocks ÷ all pairs; MiB by blocks, all pairs")
    for length in (2048, 4096):
        rng = numpy.random.default_rng(0)
        q, k, v = (rng.normal(size=(1, 2, length, 32)).astype(numpy.float32) for _ in range(3))
        mask = numpy.tri(length, dtype=bool)[None, None]
        flash, plain = tl.FlashAttention(causal=True), tl.DotProductAttention()
        blocks, small = measured(lambda *x, f=flash: np.sum(np.cos(f(x))), q, k, v)
        pairs, large = measured(lambda *x, f=plain, m=mask: np.sum(np.cos(f((*x, m)))), q, k, v)
        ratio = statistics.median(blocks() / pairs() for _ in range(ROUNDS))
        print(f"{length}: {ratio:.2f}; {small >> 20}, {large >> 20}", flush=True)


def attention_of_features() -> None:
    print("tokens: time in linear time ÷ all pairs; MiB in linear time, all pairs")
    for length in (1024, 4096):
        rng = numpy.random.default_rng(0)
        q, k, v = (rng.normal(size=(2, length, 32)).astype(numpy.float32) for _ in range(3))
        favor, plain = tl.CausalFavorAttention(), tl.DotProductCausalAttention()
        linear, small = measured(lambda *x, f=favor: np.sum(np.cos(f(x))), q, k, v)
        pairs, large = measured(lambda *x, f=plain: np.sum(np.cos(f(x))), q, k, v)
        ratio = statistics.median(linear() / pairs() for _ in range(ROUNDS))
        print(f"{length}: {ratio:.3f}; {small / 2**20:.1f}, {large / 2**20:.1f}", flush=True)


def sparse_blocks() -> None:
    print("features, vectors: least µs dense, SparseFF in mode eval, in mode predict")
    for width in (512, 1024):
        layers = [tl.Serial(tl.Dense(4 * width), tl.Relu(), tl.Dense(width))]
        layers += [tl.SparseFF(4 * width, mode=mode) for mode in ("eval", "predict")]
        for rows in (1, 4):
            x = numpy.random.default_rng(0).normal(size=(rows, width)).astype(numpy.float32)
            print(f"{width}, {rows}: {', '.join(f'{least(a, x):.0f}' for a in layers)}", flush=True)


def least(layer: tl.Layer, x: Any) -> float:
    """The least microseconds of many compiled calls."""
    weights, state = layer.init(x, rng=KEY)
    step = weft.jit(lambda weights, x: layer.pure_fn(x, weights, state, KEY)[0])
    found = []
    for _ in range(150):
        begun = time.perf_counter()
        weft.block_until_ready(step(weights, x))
        found.append(time.perf_counter() - begun)
    return min(found) * 1e6


def reversible_blocks() -> None:
    print("blocks: KiB reversible, plain")
    x = numpy.ones((1, 256, 64), numpy.float32)
    for depth in (3, 12, 48):
        halves = [
            [tl.ReversibleHalfResidual(tl.Dense(64), tl.Tanh()), tl.ReversibleSwap()]
            for _ in range(depth)
        ]
        plain = [tl.Residual(tl.Dense(64), tl.Tanh()) for _ in range(depth)]
        reversible = of_layer(tl.ReversibleSerial(halves), (x, x))[1]
        print(f"{depth}: {reversible >> 10}, {of_layer(tl.Serial(plain), x)[1] >> 10}", flush=True)


if __name__ == "__main__":
    attention_over_buckets()
    attention_by_blocks()
    attention_of_features()
    sparse_blocks()
    reversible_blocks()
