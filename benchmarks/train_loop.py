"""The training loop, run by itself:

    python benchmarks/train_loop.py [--flax PYTHON] [--torch PYTHON] [--quick]

- what `Loop` adds to a compiled step: microseconds of the calling thread, of runs of 200 steps that
  alternate with as many calls of the step itself;
- the share of a step in which the loops of examples wait for data;
- with `--flax`, a Python that has jax, flax and optax: the step of the language model of
  `language_models.py` with Adam, of weft's `Loop` and of flax with optax, in turns of 5 steps;
- with `--torch`, a Python that has PyTorch: the same with PyTorch, eagerly, with its own number of
  threads.

All numbers are medians.
"""

import argparse
import importlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(__file__).parent
BATCH, BLOCKS, RATE = 16, 2, 1e-3
PEERS = {"flax": "flax and optax", "torch": "PyTorch"}


# --- what the loop adds ---


def added() -> None:
    """Prints what a step of the loop costs beside the compiled step."""
    numpy = importlib.import_module("numpy")
    tl, optimizers = (importlib.import_module(f"weft.{name}") for name in ("layers", "optimizers"))
    training = importlib.import_module("weft.supervised.training")
    random, run_log = (
        importlib.import_module(f"weft.{name}") for name in ("random", "supervised.run_log")
    )
    ones = numpy.ones((8, 1), "float32")
    batch = numpy.ones((8, 4), "float32"), ones, ones
    task = training.TrainTask(
        [batch] * 64, tl.L2Loss(), optimizers.SGD(1e-3), n_steps_per_checkpoint=10**9
    )
    log = run_log.RunLog(stdout=False, live=True)
    loop = training.Loop(tl.Dense(1), task, random_seed=0, n_devices=1, log=log)
    loop.run(100)
    trainer, key, state = loop._current, random.PRNGKey(0), {}
    state["all"] = trainer._weights, trainer._state, trainer._slots

    def bare(n: int) -> None:
        weights, layer_state, slots = state["all"]
        for i in range(n):
            weights, layer_state, slots, _, stats = trainer._step(
                weights, layer_state, slots, (False, None), trainer._opt_params, batch, key, i
            )
        float(stats["loss"])
        state["all"] = weights, layer_state, slots

    n = 200
    rows = [(of_thread(bare, n), of_thread(loop.run, n), of_thread(bare, n)) for _ in range(41)]
    steps = [(first + last) / 2 for first, _, last in rows]
    over = [run - step for (_, run, _), step in zip(rows, steps, strict=True)]
    print(f"the compiled step alone            {statistics.median(steps):8.1f} µs")
    print(f"Loop adds                          {statistics.median(over):8.1f} µs a step")


def of_thread(run: Callable[[int], Any], n: int) -> float:
    """Microseconds of the calling thread for each of n steps."""
    begun = time.thread_time()
    run(n)
    return (time.thread_time() - begun) / n * 1e6


# --- waiting for data ---


def waiting(steps: int) -> None:
    """Prints the share of a step in which loops of examples wait for data."""
    sys.path.append(str(FOLDER.parent / "examples"))
    training = importlib.import_module("weft.supervised.training")
    waits: list[float] = []
    whole: list[float] = []
    next_batch, one_step = training.TrainTask.next_batch, training.Loop._one_step

    def timed(durations: list[float], method: Any) -> Any:
        def run(self: Any) -> Any:
            begun = time.perf_counter()
            result = method(self)
            durations.append(time.perf_counter() - begun)
            return result

        return run

    training.TrainTask.next_batch = timed(waits, next_batch)
    training.Loop._one_step = timed(whole, one_step)
    for name, loop in loops(steps).items():
        loop.run(5)
        waits.clear()
        whole.clear()
        loop.run(steps - 5)
        wait, step = statistics.median(waits), statistics.median(whole)
        print(f"{name:20} step {1e3 * step:8.2f} ms, waits {1e3 * wait:6.3f} ms: "
              f"{100 * wait / step:5.2f} %")  # fmt: skip
    training.TrainTask.next_batch, training.Loop._one_step = next_batch, one_step


def loops(steps: int) -> dict[str, Any]:
    """Training loops of examples, that report nothing while they run."""
    numpy, tl = importlib.import_module("numpy"), importlib.import_module("weft.layers")
    optimizers = importlib.import_module("weft.optimizers")
    training = importlib.import_module("weft.supervised.training")
    names = "cifar", "copy_task", "dates", "demo", "language_model", "resnet", "reverse_task"
    modules = {name: importlib.import_module(name) for name in (*names, "scans", "char_lm")}
    demo, lm = modules["demo"], modules["language_model"]
    data, models = importlib.import_module("weft.data"), importlib.import_module("weft.models")
    run_log = importlib.import_module("weft.supervised.run_log")

    def loop(network: Any, batches: Any, loss: Any) -> Any:
        task = training.TrainTask(
            batches, loss, optimizers.Adam(), n_steps_per_checkpoint=10 * steps
        )
        log = run_log.RunLog(stdout=False)
        return training.Loop(network, task, random_seed=0, n_devices=1, log=log)

    cross_entropy = tl.CategoryCrossEntropy()
    learnt, _ = lm.load()
    scans = modules["scans"].load()
    dates, reverse = modules["dates"], modules["reverse_task"]
    days = numpy.arange(dates.DAYS)
    pairs = data.Serial(
        lambda: (dates.pairs(numpy.random.RandomState(i), days, 64) for i in range(10**9)),
        data.Prefetch(2),
    )
    images = numpy.zeros((2000, 32, 32, 3), "uint8"), numpy.zeros(2000, "int32")
    photographs = data.Serial(
        data.Arrays(*images, shuffle=True, epochs=None, seed=0),
        data.Batch(128),
        data.RandomFlow("Change", modules["cifar"].changed, 0),
        data.Prefetch(2),
    )
    return {
        "resnet": loop(
            modules["resnet"].network(2),
            modules["scans"].stream(scans.images, scans.labels, 64),
            cross_entropy,
        ),
        "demo's model": loop(lm.model(**demo.SIZES), lm.batches(learnt, demo.BATCH), cross_entropy),
        "language_model": loop(lm.model(**lm.SIZES), lm.batches(learnt, lm.BATCH), cross_entropy),
        "dates": loop(
            models.Transformer(
                len(dates.CHARACTERS), max_len=dates.SOURCE, dropout=0.0, **dates.SIZES
            ),
            pairs(),
            cross_entropy,
        ),
        "reverse_task": loop(
            models.Reformer(reverse.KINDS + 2, **reverse.SIZES),
            data.Serial(reverse.batches, data.Prefetch(2))(),
            tl.WeightedCategoryCrossEntropy(),
        ),
        "cifar": loop(models.WideResnet(1, 2), photographs(), cross_entropy),
    }


# --- beside other libraries ---


def serve(peer: str) -> None:
    """Answers each line of standard input with the milliseconds of a step: wall and processor."""
    sys.path.insert(0, str(FOLDER))
    step = {"weft": weft_steps, "flax": flax_steps, "torch": torch_steps}[peer]()
    step(3)
    print("ready", flush=True)
    for _ in sys.stdin:
        begun, cpu = time.perf_counter(), time.process_time()
        step(5)
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
        print(wall / 5 * 1e3, cpu / 5 * 1e3, flush=True)


def weft_steps() -> Callable[[int], Any]:
    """The run of weft's loop."""
    peers, models = importlib.import_module("peers"), importlib.import_module("language_models")
    tl, optimizers = (importlib.import_module(f"weft.{name}") for name in ("layers", "optimizers"))
    training = importlib.import_module("weft.supervised.training")
    run_log = importlib.import_module("weft.supervised.run_log")
    adam = optimizers.Adam(RATE, weight_decay_rate=0.0)
    tokens = models.tokens(BATCH)
    task = training.TrainTask(
        [(tokens, tokens)] * 64, tl.CategoryCrossEntropy(), adam, n_steps_per_checkpoint=10**9
    )
    log = run_log.RunLog(stdout=False)
    model = models.language_model(peers.load("weft"), BLOCKS).layer
    return training.Loop(model, task, random_seed=0, n_devices=1, log=log).run


def flax_steps() -> Callable[[int], Any]:
    """As many steps of a train state of flax with optax's Adam."""
    peers, models = importlib.import_module("peers"), importlib.import_module("language_models")
    jax, optax = importlib.import_module("jax"), importlib.import_module("optax")
    train_state = importlib.import_module("flax.training.train_state")
    model, tokens = models.language_model(peers.load("flax"), BLOCKS), models.tokens(BATCH)
    state = train_state.TrainState.create(
        apply_fn=model.logits, params=model.weights(), tx=optax.adam(RATE, eps=1e-5)
    )

    @jax.jit
    def step(state: Any, tokens: Any) -> Any:
        def loss(params: Any) -> Any:
            logits = state.apply_fn(params, tokens)
            return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()

        value, gradient = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradient), value

    def run(n: int) -> None:
        nonlocal state
        for _ in range(n):
            state, value = step(state, tokens)
        value.block_until_ready()

    return run


def torch_steps() -> Callable[[int], Any]:
    """As many steps of PyTorch with its Adam."""
    models, torch = importlib.import_module("language_models"), importlib.import_module("torch")
    model = models.language_model(SimpleNamespace(name="torch"), BLOCKS).layer
    tokens = torch.from_numpy(models.tokens(BATCH)).long()
    adam = torch.optim.Adam(model.parameters(), RATE, eps=1e-5, foreach=True)

    def run(n: int) -> None:
        for _ in range(n):
            adam.zero_grad()
            logits = model(tokens)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
            loss.backward()
            adam.step()
        loss.item()

    return run


def compared(peer: str, python: str, rounds: int) -> None:
    """Prints the steps of weft and of a peer, and their ratio, from interleaved turns."""
    servers = {
        name: subprocess.Popen(
            [path, __file__, "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, path in (("weft", sys.executable), (peer, python))
    }
    found: dict[str, list[list[float]]] = {name: [] for name in servers}
    for server in servers.values():
        server.stdout.readline()  # type: ignore[union-attr]
    for i in range(rounds):
        for name in sorted(servers, reverse=bool(i % 2)):
            server = servers[name]
            server.stdin.write("\n")  # type: ignore[union-attr]
            server.stdin.flush()  # type: ignore[union-attr]
            line = server.stdout.readline()  # type: ignore[union-attr]
            found[name].append([float(x) for x in line.split()])
    for server in servers.values():
        server.communicate()
    for i, clock in enumerate(("on the wall", "of the processor")):
        ours, theirs = ([turn[i] for turn in found[name]] for name in ("weft", peer))
        ratio = statistics.median(y / x for x, y in zip(ours, theirs, strict=True))
        print(f"language model, ms {clock:16}  Loop {statistics.median(ours):.1f}, {PEERS[peer]} "
              f"{statistics.median(theirs):.1f}: {ratio:.2f} times")  # fmt: skip


def main() -> None:
    """Prints all measurements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--flax", default="", help="a Python with jax, flax and optax")
    parser.add_argument("--torch", default="", help="a Python with PyTorch and NumPy")
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--serve", choices=("weft", *PEERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    added()
    waiting(15 if options.quick else 60)
    for peer in PEERS:
        if python := getattr(options, peer):
            compared(peer, python, 5 if options.quick else 25)


if __name__ == "__main__":
    main()
