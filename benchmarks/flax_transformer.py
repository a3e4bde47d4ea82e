"""A transformer of flax with Adam of optax, on weft and on jax, run by itself:

    python benchmarks/flax_transformer.py PYTHON [--rounds 5]

PYTHON has jax, flax and optax. weft runs the same files of flax and optax, by `weft.compat`. Each
round starts one process of either, in turns, without programs stored on the disk, and measures
seconds of the clock and of the processor (of all threads; the better measure on a busy machine):

- eager start: the weights, and the first step that is not jitted;
- trace and lower: `jax.jit(step).lower(…)`;
- first jitted call: tracing, lowering, compiling and running;
- jitted step: the median of 40, each waited for.

The table has the medians of the rounds' seconds and ratios.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

BLOCKS, WIDTH, HEADS, VOCAB, LENGTH, BATCH, STEPS = 4, 128, 4, 256, 64, 8, 40
ROWS = ("eager start", "trace and lower", "first jitted call", "jitted step")
SITE = "import site; print(site.getsitepackages()[0])"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", help="a Python with jax, flax and optax")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ask = subprocess.run([options.python, "-c", SITE], capture_output=True, text=True, check=True)
    environment = {**os.environ, "WEFT_CACHE_DIR": "", "PYTHONPATH": ask.stdout.strip()}
    on_weft = [sys.executable, "-m", "weft.compat", "--quiet", __file__]
    rounds = []
    for i in range(options.rounds):
        pair = [("weft", on_weft), ("jax", [options.python, __file__])]
        found = {}
        for name, command in pair[:: 1 if i % 2 else -1]:
            done = subprocess.run(
                command, capture_output=True, text=True, check=True,
                env={**environment, "MEASURE": "1"},
            )  # fmt: skip
            found[name] = json.loads(done.stdout.splitlines()[-1])
        rounds.append(found)
    print("| | weft | jax | jax / weft | of the rounds |\n|---|--:|--:|--:|---|")
    for row in ROWS:
        for n, kind in enumerate(("clock", "processor")):
            weft, jax = ([r[name][row][n] for r in rounds] for name in ("weft", "jax"))
            ratios = sorted(b / a for a, b in zip(weft, jax, strict=True))
            values = f"{statistics.median(weft):.4f} | {statistics.median(jax):.4f}"
            print(
                f"| {row}, {kind} | {values} | {statistics.median(ratios):.2f} | "
                f"{ratios[0]:.2f} to {ratios[-1]:.2f} |"
            )
    losses = {name: [r[name]["loss"] for r in rounds] for name in ("weft", "jax")}
    print(f"losses after {STEPS} steps: {losses}")


def measure() -> None:
    """Prints the times of this process, whose jax is jax or weft."""
    nn, jax, jnp, numpy, optax = map(
        importlib.import_module, ("flax.linen", "jax", "jax.numpy", "numpy", "optax")
    )

    class Transformer(nn.Module):  # type: ignore[name-defined,misc]
        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            x = nn.Embed(VOCAB, WIDTH)(tokens)
            x = x + self.param("positions", nn.initializers.normal(), (LENGTH, WIDTH))
            mask = nn.make_causal_mask(tokens)
            for _ in range(BLOCKS):
                y = nn.LayerNorm()(x)
                x = x + nn.MultiHeadDotProductAttention(HEADS)(y, mask=mask)
                x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x))))
            return nn.Dense(VOCAB)(nn.LayerNorm()(x))

    model, optimizer = Transformer(), optax.adam(1e-3)
    tokens = jnp.asarray(numpy.random.RandomState(0).randint(0, VOCAB, (BATCH, LENGTH)))

    def loss_of(params: Any) -> Any:
        logits = model.apply(params, tokens)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:])
        return losses.mean()

    def step(params: Any, state: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    def seconds(run: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
        begun = time.perf_counter(), time.process_time()
        result = run()
        jax.block_until_ready(result)
        return (time.perf_counter() - begun[0], time.process_time() - begun[1]), result

    def start() -> Any:
        params = model.init(jax.random.PRNGKey(0), tokens)
        return step(params, optimizer.init(params))

    eager, (params, state, loss) = seconds(start)
    lower, _ = seconds(lambda: jax.jit(lambda *args: step(*args)).lower(params, state) and None)
    jitted = jax.jit(step)

    def next_step() -> Any:
        return jitted(params, state)

    first, (params, state, loss) = seconds(next_step)
    times = []
    for _ in range(STEPS):
        passed, (params, state, loss) = seconds(next_step)
        times.append(passed)
    jitted_step = [statistics.median(column) for column in zip(*times, strict=True)]
    found = dict(zip(ROWS, (eager, lower, first, jitted_step), strict=True))
    print(json.dumps({**found, "loss": float(loss)}))


if __name__ == "__main__":
    measure() if os.environ.get("MEASURE") else main()
