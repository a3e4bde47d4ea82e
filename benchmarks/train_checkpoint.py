"""How long does a checkpoint of 40 MB hold a training step?

A loop multiplies 40 matrices of 1 MB and saves them in the background again and again. `a step` is
one without a checkpoint, `held` the time in `Checkpoints.save`, and `the next step` the one after
it, while the files are written. In `donated` the step takes the memory of its arguments, as that of
`Trainer` does: it finds the memory in use, and takes other memory once.

`save` and `restore` wait for the end; NumPy's `savez` and `load` stand beside, with the same wait
for the disk. NumPy writes no checksums.
"""

import os
import statistics
import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as onp

TITLE = "Checkpoints of a run"
UNIT = "ms; the median and the slowest of 20"
KIND = "fresh"
CLOCKS = ("median", "slowest")
PEERS = ("weft", "numpy")
ALWAYS = ("numpy",)
CASES = ("kept", "donated", "files")
TARGETS: dict[str, dict[str, float]] = {}
COUNT, SIDE, TIMES = 40, 500, 20


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds of a call, and its result."""
    begun = perf_counter()
    result = call()
    return (perf_counter() - begun) * 1e3, result


def summary(times: list[float]) -> dict[str, float]:
    """The two numbers of a row."""
    return {"median": statistics.median(times), "slowest": max(times)}


def loop(peer: Any, donated: bool, folder: str) -> dict[str, dict[str, float]]:
    """A loop that saves in the background."""
    random = onp.random.default_rng(0)
    matrix = random.normal(size=(SIDE, SIDE)).astype("float32") / SIDE
    weights = [peer.array(matrix + i) for i in range(COUNT)]
    step = peer.jit(
        lambda weights: [w @ matrix * 0.1 + 1.0 for w in weights],
        donate_argnums=0 if donated else (),
    )
    # before the timed steps: compiled, and the second set of arrays has its memory
    for _ in range(3):
        weights = peer.wait(step(peer.wait(step(weights))))
    found: dict[str, list[float]] = {"a step": [], "held": [], "the next step": []}
    with peer.package.checkpoints.Checkpoints(folder, keep_last=2) as checkpoints:
        for i in range(-2, TIMES):
            plain, weights = timed(lambda: peer.wait(step(weights)))  # noqa: B023
            held, _ = timed(lambda: checkpoints.save(i + 2, {"weights": weights}))  # noqa: B023
            after, weights = timed(lambda: peer.wait(step(weights)))  # noqa: B023
            checkpoints.wait()
            if i >= 0:
                for name, time in zip(found, (plain, held, after), strict=True):
                    found[name].append(time)
    return {name: summary(times) for name, times in found.items()}


def files_of_weft(peer: Any, tree: dict[str, Any], folder: str) -> tuple[Any, Any]:
    """Functions that save and restore."""
    checkpoints = peer.package.checkpoints
    tree = {name: peer.array(x) for name, x in tree.items()}
    path = os.path.join(folder, "one")
    return lambda: checkpoints.save(path, tree, overwrite=True), lambda: checkpoints.restore(path)


def files_of_numpy(tree: dict[str, Any], folder: str) -> tuple[Any, Any]:
    """The same of NumPy's files."""
    path = os.path.join(folder, "one.npz")

    def save() -> None:
        with open(path + "_", "wb") as file:
            onp.savez(file, **tree)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + "_", path)

    def restore() -> dict[str, Any]:
        with onp.load(path) as opened:
            return {name: opened[name] for name in opened.files}

    return save, restore


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """One case."""
    with tempfile.TemporaryDirectory() as folder:
        if case != "files":
            return {} if peer.name == "numpy" else loop(peer, case == "donated", folder)
        random = onp.random.default_rng(0)
        tree = {f"w{i}": random.normal(size=(SIDE, SIDE)).astype("float32") for i in range(COUNT)}
        both = files_of_numpy(tree, folder)
        if peer.name != "numpy":
            both = files_of_weft(peer, tree, folder)
        for call in both:
            call()
        return {
            name: summary([timed(call)[0] for _ in range(TIMES)])
            for name, call in zip(("save", "restore"), both, strict=True)
        }
