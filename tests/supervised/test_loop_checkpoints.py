import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from loops import batches, eval_task, leaves, loop, train_task

import weft
from weft import checkpoints, layers as tl, optimizers
from weft.errors import CheckpointError, CheckpointMismatchError
from weft.supervised import callbacks, lr_schedules, training

CLOCK = "training/steps per second"


def every(n):
    return lambda step: step % n == 0


def model():
    """Layers with weights, state and random numbers."""
    return tl.Serial(tl.Dense(8), tl.BatchNorm(axis=0), tl.Dropout(0.3), tl.Relu(), tl.Dense(1))


class Stream:
    """Batches drawn at random, with a position: the state of the generator."""

    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)
        self.drawn = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.drawn += 1
        x = self.rng.randn(8, 3).astype("float32")
        return x, np.sum(x, axis=1, keepdims=True), np.ones((8, 1), "float32")

    def get_state(self):
        name, keys, *rest = self.rng.get_state()
        return [name, keys.tolist(), *rest]

    def set_state(self, state):
        name, keys, *rest = state
        self.rng.set_state((name, np.array(keys, "uint32"), *rest))


def run_of(folder, data=Stream, optimizer=None, **options):
    """A loop that saves every 5 steps and evaluates every 10."""
    task = train_task(
        data(),
        optimizer=optimizer or optimizers.Adam(0.01),
        lr_schedule=lr_schedules.warmup(9, 0.1),
    )
    options = {"checkpoint_at": every(5), "eval_at": every(10), **options}
    return loop(
        model(), task, eval_tasks=eval_task(data(1), n_eval_batches=2), output_dir=folder, **options
    )


def everything(run):
    """What a run has made: weights, state, optimizer's state, history but for the clock."""
    trees = run.model.weights, run.model.state, run._trainer_per_task[0].slots, run._keys
    arrays = [np.asarray(x).tolist() for x in weft.tree_util.tree_leaves(trees)]
    history = {
        (mode, metric): run.history.get(mode, metric)
        for mode in run.history.modes
        for metric in run.history.metrics_for_mode(mode)
        if metric != CLOCK
    }
    return run.step, arrays, history, run._values[0].get_state()


SOURCES = {
    "with a position": Stream,
    "counted": batches,
    "a list": lambda seed=0: [b for b, _ in zip(batches(seed), range(4), strict=False)],
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("saved_at", [3, 10])
def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit(tmp_path, source, saved_at):
    """Saved between reports, and at a step that is saved before it is reported."""
    data = SOURCES[source]
    whole = run_of(None, data)
    whole.run(24)
    first = run_of(tmp_path, data, checkpoint_at=lambda step: step == saved_at)
    first.run(17)
    second = run_of(tmp_path, data, random_seed=99)
    assert second.step == saved_at
    second.run(24 - saved_at)
    assert everything(second) == everything(whole)


def test_the_logs_of_a_resumed_run_are_those_of_the_uninterrupted_one(tmp_path):
    whole = run_of(tmp_path / "whole")
    whole.run(30)
    run_of(tmp_path / "parts").run(14)
    run_of(tmp_path / "parts").run(20)
    for name in ("metrics.jsonl", "metrics.csv"):
        texts = [(tmp_path / folder / name).read_text() for folder in ("whole", "parts")]
        assert texts[0] == texts[1]


def test_a_resumed_run_says_nothing_of_a_speed_that_it_did_not_have(tmp_path, capsys):
    run_of(tmp_path).run(10)
    capsys.readouterr()
    again = run_of(tmp_path)
    again.run(2)
    text = capsys.readouterr().out
    assert "Step     10: eval" in text  # the report was due when step 10 was saved
    assert "Ran" not in text
    assert 10 not in dict(again.history.get("train", CLOCK))


def test_what_is_saved(tmp_path):
    run = run_of(tmp_path, permanent_checkpoint_at=every(15), checkpoint_low_metric="L2Loss")
    run.run(20)
    names = checkpoints.Checkpoints(tmp_path).names()
    assert {"model", "model_15", "lowest_L2Loss"} <= set(names)
    tree = checkpoints.restore(tmp_path / "model")
    saved = weft.tree_util.tree_leaves(tree["weights"])
    assert all((np.asarray(a) == b).all() for a, b in zip(saved, leaves(run), strict=True))
    assert checkpoints.read_metadata(tmp_path / "model_15")["step"] == 15


def test_a_metric_may_have_any_name(tmp_path):
    name = "loss/é %"
    run = loop(
        eval_tasks=eval_task(metric_names=[name]),
        output_dir=tmp_path,
        checkpoint_low_metric=name,
        checkpoint_at=every(1),
        eval_at=every(1),
    )
    run.run(1)
    assert "lowest_loss----" in checkpoints.Checkpoints(tmp_path).names()
    run.load_checkpoint(filename=f"lowest_{name}")


@pytest.mark.parametrize(("prefix", "best"), [("lowest", min), ("highest", max)])
def test_the_best_model_is_kept(tmp_path, prefix, best):
    option = {"lowest": "checkpoint_low_metric", "highest": "checkpoint_high_metric"}[prefix]
    run = run_of(tmp_path, **{option: "L2Loss"}, eval_at=every(5))
    run.run(30)
    values = {value: step for step, value in run.history.get("eval", "metrics/L2Loss")}
    metadata = checkpoints.read_metadata(tmp_path / f"{prefix}_L2Loss")
    assert metadata["step"] == values[best(values)]


def test_a_checkpoint_may_be_saved_and_loaded_by_name(tmp_path):
    run = run_of(tmp_path, checkpoint_at=lambda step: False)
    run.run(4)
    run.save_checkpoint("here")
    assert checkpoints.read_metadata(tmp_path / "here")["step"] == 4  # it is there already
    before = everything(run)
    run.run(3)
    run.load_checkpoint(filename="here")
    assert everything(run) == before
    other = run_of(None)
    other.load_checkpoint(tmp_path, "here")
    assert everything(other) == before
    other.load_checkpoint(tmp_path, "elsewhere")
    assert everything(other) == before


def test_by_default_it_saves_at_step_1_and_every_n_steps_and_at_the_end(tmp_path):
    saved = []
    run = loop(tasks=train_task(n_steps_per_checkpoint=3), output_dir=tmp_path)
    save = run._checkpoints.save
    run._checkpoints.save = lambda *names: (saved.append((run.step, names[0])), save(*names))
    for n in (7, 2, 0):
        run.run(n)
    assert saved == [(step, "model") for step in (1, 3, 6, 7, 9)]
    assert loop(output_dir=tmp_path).step == 9
    saved.clear()
    run_of(tmp_path / "own", checkpoint_at=every(5)).run(7)
    assert checkpoints.read_metadata(tmp_path / "own" / "model")["step"] == 5


def test_nothing_is_saved_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = run_of(None)
    run.run(5)
    run.save_checkpoint("model")
    assert list(tmp_path.iterdir()) == []


def linear(n, folder, optimizer=None, extra=(), **options):
    return loop(
        tl.Serial(tl.Dense(n), *extra),
        train_task(optimizer=optimizer or optimizers.Adam(0.01)),
        output_dir=folder,
        checkpoint_at=every(2),
        **options,
    )


# Models that take the weights of a run without a loop.


class Scaled(tl.Layer):
    """Weights in a dict that a compiled step returns in another order."""

    def init_weights_and_state(self, input_signature):
        self.weights = {"scale": np.ones(3, "float32"), "offset": np.zeros(3, "float32")}

    def forward(self, x):
        return x * self.weights["scale"] + self.weights["offset"]


def with_dicts():
    return tl.Serial(Scaled(), tl.Dropout(0.1), tl.BatchNorm(axis=0, momentum=0.5), tl.Dense(1))


@pytest.mark.parametrize("name", ["model", "model.pkl.gz", "model_4"])
def test_a_model_takes_weights_and_state_of_a_run_from_its_file(tmp_path, name):
    run = loop(with_dicts(), output_dir=tmp_path, permanent_checkpoint_at=every(4))
    run.run(4)
    model, x = tl.in_mode(with_dicts(), "eval"), next(batches(3))[0]
    model.init_from_file(tmp_path / name)
    np.testing.assert_array_equal(model(x), run.eval_model(x))
    model.save_to_file(tmp_path / "layer.pkl.gz", input_signature=x)
    again = tl.in_mode(with_dicts(), "eval")
    again.init_from_file(tmp_path / "layer.pkl.gz")
    np.testing.assert_array_equal(again(x), model(x))


def test_a_run_begins_with_the_weights_of_another_one(tmp_path):
    first = linear(1, tmp_path / "first")
    first.run(2)
    model = tl.Serial(tl.Dense(1))
    model.init_from_file(tmp_path / "first" / "model", weights_only=True)
    second = loop(model, output_dir=tmp_path / "second")
    assert second.step == 0
    assert [w.tolist() for w in leaves(second)] == [w.tolist() for w in leaves(first)]


def test_a_model_that_predicts_takes_weights_alone(tmp_path):
    def decoder(mode):
        return tl.Serial(tl.Embedding(4, 4), tl.CausalAttention(4, 1, mode=mode), tl.Dense(4))

    tokens = np.zeros((8, 3), "int32")
    task = training.TrainTask([(tokens, tokens)], tl.CategoryCrossEntropy(), optimizers.SGD())
    loop(decoder("train"), task, output_dir=tmp_path).run(1)
    path = tmp_path / "model"
    with pytest.raises(ValueError, match=r"of state.*\n  fix: .*weights_only=True\)"):
        decoder("predict").init_from_file(path)
    decoder("predict").init_from_file(path, weights_only=True)


NO_MODEL = {
    ".": r"is not a checkpoint\n  fix: .*model\n",
    "train": r"is not a checkpoint\n  fix: another path",
    "other": r"not a checkpoint of a training loop\n  fix: checkpoints\.restore",
    "model": r"array 0 of weights in .*model has shape \(3, 1\), and the layer's has \(3, 2\)",
}


@pytest.mark.parametrize("name", ["modle", "modle.pkl.gz", "gs://elsewhere/model.pkl.gz"])
def test_a_file_that_is_not_there(tmp_path, name):
    path = name if "://" in name else str(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=rf"no file '{path}'\n  fix: a file of this mach"):
        tl.Dense(2).init_from_file(path)


@pytest.mark.parametrize("name", NO_MODEL)
def test_what_no_model_can_take_is_refused(tmp_path, name):
    linear(1, tmp_path).run(2)
    (tmp_path / "train").mkdir(exist_ok=True)
    checkpoints.save(tmp_path / "other", {"w": np.ones(3)})
    with pytest.raises(ValueError, match=NO_MODEL[name]):
        tl.Serial(tl.Dense(2)).init_from_file(tmp_path / name)


def test_a_larger_model_takes_the_first_weights(tmp_path, capsys):
    small = linear(1, tmp_path)
    small.run(2)
    large = linear(1, tmp_path, extra=[tl.Dense(1)])
    assert large.step == 2
    assert (leaves(large)[0] == leaves(small)[0]).all()
    assert "has 2 arrays of weights, of 4: the others do not change" in capsys.readouterr().out
    large.run(1)


def test_another_model_is_refused(tmp_path):
    linear(1, tmp_path).run(2)
    with pytest.raises(CheckpointMismatchError, match=r"arrays of weights .*\(3, 1\)") as raised:
        linear(2, tmp_path)
    assert isinstance(raised.value, IndexError)


def test_another_optimizer_is_refused(tmp_path):
    linear(1, tmp_path).run(2)
    with pytest.raises(CheckpointMismatchError, match="arrays of the optimizer's state"):
        linear(1, tmp_path, optimizers.SGD(0.1))


def test_16_bits_come_back(tmp_path):
    def run():
        return loop(tl.Serial(tl.Dense(1, use_bfloat16=True)), output_dir=tmp_path,
                    checkpoint_at=every(2))  # fmt: skip

    first = run()
    first.run(2)
    second = run()
    assert [w.dtype.name for w in leaves(second)] == ["bfloat16", "bfloat16"]
    assert (leaves(first)[0] == leaves(second)[0]).all()


def test_a_scale_of_the_loss_comes_back(tmp_path):
    first = linear(1, tmp_path, precision="float16")
    first._current.loss_scale = first._current.loss_scale._replace(factor=weft.numpy.float32(64))
    first.run(2)
    assert linear(1, tmp_path, precision="float16")._current.loss_scale.factor == 64


def reversible():
    half = [tl.ReversibleHalfResidual(tl.Dense(4)) for _ in range(2)]
    return tl.Serial(
        tl.Dense(4), tl.Dup(), half[0], tl.ReversibleSwap(), half[1], tl.Add(), tl.Dense(1)
    )


@pytest.mark.parametrize("efficient_first", [False, True])
def test_either_trainer_goes_on_from_the_others_checkpoint(tmp_path, efficient_first):
    def run(efficient, folder):
        optimizer = optimizers.Adam if efficient else optimizers.Adam(0.0001)
        return loop(
            reversible(),
            train_task(optimizer=optimizer, lr_schedule=lr_schedules.constant(0.01)),
            use_memory_efficient_trainer=efficient,
            output_dir=folder,
            checkpoint_at=every(2),
        )

    whole = run(efficient_first, None)
    whole.run(6)
    run(efficient_first, tmp_path).run(2)
    second = run(not efficient_first, tmp_path)
    second.run(4)
    assert second.step == 6
    for a, b in zip(leaves(whole), leaves(second), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_damaged_checkpoint_is_one_clear_error(tmp_path):
    linear(1, tmp_path).run(2)
    path = tmp_path / "model" / "arrays.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"arrays\.safetensors"):
        linear(1, tmp_path)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    checkpoints.save(tmp_path / "model", {"w": np.ones(3)})
    with pytest.raises(CheckpointMismatchError, match="not a checkpoint of a training loop"):
        linear(1, tmp_path)


# Signals.

PROGRAM = textwrap.dedent(
    """
    import sys
    sys.path[:0] = [{tests!r}, {supervised!r}]
    from test_loop_checkpoints import every, run_of, Says
    run = run_of(sys.argv[1], checkpoint_at=every(int(sys.argv[2])), eval_at=lambda step: False,
                 callbacks=[Says])
    print("resumed at", run.step, flush=True)
    run.run(100_000)
    """
)


class Says(callbacks.TrainingStepCallback):
    """Prints the number of each step that was made."""

    def call_at(self, step):
        return True

    def on_step_begin(self, step):
        pass

    def on_step_end(self, step):
        print(step, flush=True)


def started(folder, every_steps):
    here = Path(__file__).parent
    program = PROGRAM.format(tests=str(here.parent), supervised=str(here))
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder), str(every_steps)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "WEFT_CPU_DEVICES": "1"},
    )


def steps_of(process):
    """The steps that a process says, as it says them."""
    for line in process.stdout:
        if line.strip().isdigit():
            yield int(line)


def test_sigterm_saves_and_ends(tmp_path):
    process = started(tmp_path, 10_000)
    last = 0
    for step in steps_of(process):
        last = step
        if step == 7:
            process.send_signal(signal.SIGTERM)
    process.stdout.close()
    assert process.wait(60) == -signal.SIGTERM
    metadata = checkpoints.read_metadata(tmp_path / "model")
    assert metadata["step"] >= max(last, 7)


def kill_often(folder, kills):
    """Starts a run and kills it at random moments; returns what each process began with."""
    rng, begun, done = random.Random(0), [], 0
    for _ in range(kills):
        process = started(folder, 1)
        said = [process.stdout.readline()]
        assert "resumed at" in said[0]
        begun.append((int(said[0].split()[-1]), done))
        time.sleep(rng.random() * 0.5)
        process.kill()
        steps = list(steps_of(process))
        process.wait()
        process.stdout.close()
        done = max([done, *steps])
    return begun


SLOW = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=SLOW)])
def test_a_killed_run_loses_at_most_what_came_after_its_last_checkpoint(tmp_path, kills):
    """It saves after each step, in the background. When a step is printed, the one before it may be
    on its way to the disk."""
    begun = kill_often(tmp_path, kills)
    assert [b for b in begun if b[0] < b[1] - 2] == []
    assert begun[-1][0] > 0
    last = run_of(tmp_path)
    n = last.step
    whole = run_of(None, eval_at=lambda step: False)
    whole.run(n)
    assert [w.tolist() for w in leaves(last)] == [w.tolist() for w in leaves(whole)]
