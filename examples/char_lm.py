"""A language model of characters learns Python from the standard library's own source text.

A stack of causal convolutions, each looking twice as far back as the one before (van den Oord et
al., WaveNet, 2016), gives the probabilities of the next character. What counts is bits per
character on modules that were held out, beside tables of character pairs and triples.

    python examples/char_lm.py [--steps 1000]
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as onp

import weft.numpy as np
from weft import jit, lax, nn, random, value_and_grad
from weft.experimental import optimizers

WIDTH, LAYERS, LENGTH, BATCH = 64, 6, 128, 16
CHARACTERS = [chr(i) for i in (10, *range(32, 127))]  # all others are left out
HELD_OUT = ("heapq.py", "json/decoder.py", "statistics.py", "textwrap.py", "wave.py")
LEARNT = ("*.py", "collections/*.py", "email/*.py", "http/*.py", "importlib/*.py", "json/*.py",
          "logging/*.py", "unittest/*.py", "urllib/*.py", "xml/*/*.py")  # fmt: skip


def load(files: int | None = None) -> tuple[onp.ndarray, onp.ndarray]:
    """The modules to learn from and those that are held out, each as one row of codes."""
    folder = Path(os.__file__).parent
    held_out = [folder / name for name in HELD_OUT]
    learnt = sorted({path for p in LEARNT for path in folder.glob(p)} - set(held_out))
    table = onp.full(256, 255, "uint8")
    table[[ord(c) for c in CHARACTERS]] = onp.arange(len(CHARACTERS))

    def codes(paths: list[Path]) -> onp.ndarray:
        text = b"".join(path.read_bytes() for path in paths)
        found = table[onp.frombuffer(text, "uint8")]
        return found[found < len(CHARACTERS)]

    return codes(learnt[:files]), codes(held_out)


def table_bits(learnt: onp.ndarray, test: onp.ndarray, length: int) -> float:
    """Bits per character of a table of runs of `length` characters, and shorter ones mixed in."""
    count = len(CHARACTERS)
    before = onp.full(len(test) - length + 1, 1 / count)
    for n in range(1, length + 1):

        def runs(x: onp.ndarray, n: int = n) -> onp.ndarray:
            return sum(x[i : len(x) - n + 1 + i].astype("int64") * count ** (n - 1 - i)
                       for i in range(n))  # fmt: skip

        seen = onp.bincount(runs(learnt), minlength=count**n).astype(float)
        total = seen.reshape(-1, count).sum(1)
        at = runs(test)[length - n :]
        before = (seen[at] + 4 * before) / (total[at // count] + 4)
    return float(-onp.log2(before).mean())


def init_params(key: Any) -> dict[str, Any]:
    """A vector for each character, convolutions over pairs, and a projection to characters."""
    keys = random.split(key, LAYERS + 1)
    blocks = [
        {"taps": random.normal(k, (2, WIDTH, 2 * WIDTH)) * (2 * WIDTH) ** -0.5,
         "bias": np.zeros(2 * WIDTH),
         "out": random.normal(random.fold_in(k, 1), (WIDTH, WIDTH)) * 0.5 * WIDTH**-0.5}
        for k in keys[1:]
    ]  # fmt: skip
    table = random.normal(keys[0], (len(CHARACTERS), WIDTH)) * WIDTH**-0.5
    return {"table": table, "blocks": blocks, "last": np.zeros(len(CHARACTERS))}


def predict(params: dict[str, Any], codes: Any) -> Any:
    """Logits [n, t, characters] of what follows each of the codes [n, t]."""
    x = params["table"][codes] * WIDTH**0.5
    for i, block in enumerate(params["blocks"]):
        back = 2**i
        earlier = np.pad(x, ((0, 0), (back, 0), (0, 0)))[:, : x.shape[1]]
        both = earlier @ block["taps"][0] + x @ block["taps"][1] + block["bias"]
        value, gate = np.split(both, 2, axis=-1)
        x = x + (np.tanh(value) * nn.sigmoid(gate)) @ block["out"]
    return nn.relu(x) @ params["table"].T + params["last"]


def bits(params: dict[str, Any], codes: Any) -> Any:
    """Bits per character of rows of codes [n, t + 1]."""
    log_probabilities = nn.log_softmax(predict(params, codes[:, :-1]))
    chosen = np.take_along_axis(log_probabilities, codes[:, 1:, None], axis=2)
    return -np.mean(chosen) / np.log(2.0)


def written(params: dict[str, Any], key: Any, start: str, length: int) -> str:
    """A text that the model goes on with, a character at a time, within one compiled loop."""
    reach = 2**LAYERS
    codes = onp.array([CHARACTERS.index(c) for c in start.rjust(reach, "\n")[-reach:]])

    def step(window: Any, key: Any) -> tuple[Any, Any]:
        new = random.categorical(key, predict(params, window[None])[0, -1] / 0.7)
        return np.append(window[1:], new), new

    _, new = jit(lambda w: lax.scan(step, w, random.split(key, length)))(codes)
    return start + "".join(CHARACTERS[int(c)] for c in new)


def main(steps: int = 1000, quick: bool = False) -> tuple[float, float]:
    """Learns; prints a text and bits per character; returns the model's and the table's."""
    learnt, test = load(3 if quick else None)
    opt_init, opt_update, get_params = optimizers.adam(optimizers.polynomial_decay(3e-3, steps, 0))
    steps = 2 if quick else steps

    @jit
    def step(i: Any, opt_state: Any, codes: Any) -> tuple[Any, Any]:
        value, gradient = value_and_grad(bits)(get_params(opt_state), codes)
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), value

    begun, drawn = time.perf_counter(), onp.random.RandomState(0)
    opt_state = opt_init(init_params(random.PRNGKey(0)))
    for i in range(steps):
        starts = drawn.randint(len(learnt) - LENGTH - 1, size=BATCH)
        rows = learnt[starts[:, None] + onp.arange(LENGTH + 1)].astype("int32")
        opt_state, _ = step(i, opt_state, rows)
    seconds = time.perf_counter() - begun
    params = get_params(opt_state)
    rows = test[: len(test) // (LENGTH + 1) * (LENGTH + 1)].reshape(-1, LENGTH + 1).astype("int32")
    score = float(jit(bits)(params, rows[: BATCH if quick else None]))
    pairs, triples = (table_bits(learnt, test, n) for n in (2, 3))
    print(f"text                 {len(learnt):,} characters; held out: {len(test):,}")
    print(f"training             {steps} steps of {BATCH} × {LENGTH} characters, {seconds:.1f} s")
    print(
        f"bits per character   {score:.3f}; tables of pairs {pairs:.3f}, of triples {triples:.3f}"
    )
    print(written(params, random.PRNGKey(1), "def main(", 8 if quick else 300))
    return score, triples


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="two steps on three modules")
    main(**vars(parser.parse_args()))
