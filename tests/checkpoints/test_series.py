"""Checkpoints of a run: which there are, which stay, and writing in the background."""

import errno
import gc
import os
import threading
import warnings

import checkpoint_trees as trees
import numpy as np
import pytest

import weft
import weft.numpy as np_
from weft.checkpoints import Checkpoints, restore, saving, series
from weft.core.array import Array
from weft.errors import CheckpointError, ShapeError
from weft.sharding import Mesh, NamedSharding, PartitionSpec


def saved(folder, steps, **options):
    """Checkpoints of these steps; the metadata have the loss if `steps` is a dict."""
    with Checkpoints(folder, **options) as checkpoints:
        for step in steps:
            loss = {"loss": steps[step]} if isinstance(steps, dict) else None
            checkpoints.save(step, trees.small(step), loss)
    return Checkpoints(folder, **options)


def test_nothing_is_there_at_first(tmp_path):
    checkpoints = Checkpoints(tmp_path / "run")
    assert (checkpoints.steps(), checkpoints.names(), checkpoints.latest()) == ([], [], None)
    assert Checkpoints(tmp_path, best_metric="loss").best() is None
    for call in (checkpoints.restore, checkpoints.metadata):
        with pytest.raises(
            FileNotFoundError, match="run has no checkpoint the newest; it has none"
        ):
            call()
    assert not (tmp_path / "run").exists()


def test_steps_and_names(tmp_path):
    checkpoints = saved(tmp_path, [5, 100, 20])
    checkpoints.save(30, trees.small(30), name="model")
    checkpoints.save(40, trees.small(40), name="highest_accuracy.x+y=z-1")
    assert checkpoints.steps() == [5, 20, 100]
    assert checkpoints.names() == ["highest_accuracy.x+y=z-1", "model"]
    assert checkpoints.latest() == 100
    trees.same(checkpoints.restore(), trees.small(100))
    trees.same(checkpoints.restore(5), trees.small(5))
    trees.same(checkpoints.restore(np.int64(20)), trees.small(20))
    trees.same(checkpoints.restore("model"), trees.small(30))
    trees.same(checkpoints.restore(5, like=trees.small(0)), trees.small(5))
    trees.same(restore(tmp_path / "step-00000005"), trees.small(5))
    trees.same(restore(tmp_path / "model"), trees.small(30))
    assert checkpoints.metadata() == {"step": 100}
    assert checkpoints.metadata("model") == {"step": 30}


def test_a_step_and_a_name_can_be_saved_again(tmp_path):
    checkpoints = saved(tmp_path, [5])
    checkpoints.save(5, {"x": 2}, {"loss": 1.0})
    checkpoints.save(5, {"x": 3}, name="model")
    checkpoints.save(6, {"x": 4}, name="model")
    assert (checkpoints.restore(5), checkpoints.restore("model")) == ({"x": 2}, {"x": 4})
    assert checkpoints.metadata(5) == {"loss": 1.0, "step": 5}
    assert sorted(os.listdir(tmp_path)) == ["model", "step-00000005"]


@pytest.mark.parametrize(
    ("options", "steps", "stay"),
    [
        ({}, range(6), [0, 1, 2, 3, 4, 5]),
        ({"keep_last": 1}, range(6), [5]),
        ({"keep_last": 2}, range(6), [4, 5]),
        ({"keep_last": 1, "keep_every": 2}, range(6), [0, 2, 4, 5]),
        ({"keep_last": 2, "keep_every": 100}, range(50, 401, 50), [100, 200, 300, 350, 400]),
        (
            {"keep_last": 1, "keep_best": 2, "best_metric": "loss"},
            {0: 3.0, 1: 1.0, 2: float("nan"), 3: 2.0, 4: 5.0},
            [1, 3, 4],
        ),
        (
            {"keep_last": 1, "keep_best": 1, "best_metric": "loss", "best_is": "highest"},
            {0: 3, 1: 7, 2: 7, 3: float("nan"), 4: 5},
            [2, 4],
        ),
        ({"keep_last": 1, "keep_best": 1, "best_metric": "other"}, {0: 1.0, 1: 2.0}, [1]),
    ],
)
def test_those_that_stay(options, steps, stay, tmp_path):
    checkpoints = saved(tmp_path, steps, **options)
    assert checkpoints.steps() == stay
    for step in stay:
        trees.same(checkpoints.restore(step), trees.small(step))
    assert len(os.listdir(tmp_path)) == len(stay)


def test_those_with_names_stay(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep_last=1)
    checkpoints.save(1, {}, name="model")
    for step in range(3):
        checkpoints.save(step, {})
    assert (checkpoints.steps(), checkpoints.names()) == ([2], ["model"])


def test_a_run_that_begins_again_at_an_earlier_step_keeps_what_it_saves(tmp_path):
    saved(tmp_path, [100, 200, 300])
    checkpoints = Checkpoints(tmp_path, keep_last=1)
    checkpoints.save(150, {})
    assert checkpoints.steps() == [150, 300]


def test_the_best_is_known_from_the_files(tmp_path):
    steps = {1: 3.0, 2: 1.0, 3: 2.0}
    saved(tmp_path, steps)
    assert Checkpoints(tmp_path, best_metric="loss").best() == 2
    assert Checkpoints(tmp_path, best_metric="loss", best_is="highest").best() == 1
    assert Checkpoints(tmp_path, best_metric="accuracy").best() is None
    (tmp_path / "step-00000002" / "tree.json").write_text("damaged")
    assert Checkpoints(tmp_path, best_metric="loss").best() == 3
    with pytest.raises(ValueError, match=r"best: expected the name of a metric\n  fix: .*'loss'"):
        Checkpoints(tmp_path).best()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"keep_last": 0}, "keep_last must be at least 1; got 0"),
        ({"keep_last": 1.5}, "keep_last must be an int; got 1.5"),
        ({"keep_every": 100}, "keep_every=100 needs keep_last"),
        ({"keep_best": 1, "best_metric": "loss"}, "keep_best=1 needs keep_last"),
        ({"keep_last": 1, "keep_best": 1}, "keep_best needs best_metric"),
        ({"best_is": "least"}, "best_is must be 'lowest' or 'highest'; got 'least'"),
    ],
)
def test_options(options, text, tmp_path):
    with pytest.raises((ValueError, TypeError), match=f"Checkpoints: {text}"):
        Checkpoints(tmp_path, **options)


@pytest.mark.parametrize(
    ("args", "options", "text"),
    [
        ((-1, {}), {}, "Checkpoints.save: step must be at least 0; got -1"),
        ((1.0, {}), {}, "Checkpoints.save: step must be an int; got 1.0"),
        ((1, {}, {"step": 2}), {}, r"step=1 and metadata\['step'\]=2 must agree"),
        ((1, {}, {"loss": "low"}), {}, "the metric 'loss' in the metadata must be a number; got"),
        ((1, {}, {"loss": np_.ones(2)}), {}, r"got a Array for metadata\['loss'\]"),
        ((1, {}, {"loss": True}), {}, "the metric 'loss' in the metadata must be a number; got"),
        ((1, {"x": print}), {}, r"got a builtin_function_or_method at tree\['x'\]"),
        *(((1, {}), {"name": name}, "name must be letters, digits and any of") for name in (
            "", "..", "a/b", "/a", ".hidden", "-x", "a\0b", "a b", "x" * 101, 3, "step-5", "é",
        )),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_told_at_once(args, options, text, tmp_path):
    checkpoints = Checkpoints(tmp_path, best_metric="loss")
    with pytest.raises((ValueError, TypeError), match=text) as raised:
        checkpoints.save(*args, **options)
    assert raised.value.__notes__[0].startswith("  at test_series.py:")
    checkpoints.close()
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_that_is_not_there(tmp_path):
    checkpoints = saved(tmp_path, range(7))
    checkpoints.save(1, {}, name="model")
    with pytest.raises(FileNotFoundError) as raised:
        checkpoints.restore(9)
    assert str(raised.value) == (
        f"Checkpoints.restore: {tmp_path} has no checkpoint 9; it has steps …, 2, 3, 4, 5, 6, "
        "names model"
    )
    with pytest.raises(FileNotFoundError, match=r"has no checkpoint '\.\./x'"):
        checkpoints.metadata("../x")
    with pytest.raises(TypeError, match=r"Checkpoints.restore: which must be an int; got 1.5"):
        checkpoints.restore(1.5)


def test_other_files_in_the_directory_are_left_alone(tmp_path):
    (tmp_path / "step-notes.txt").write_text("mine")
    (tmp_path / "step-00000001").mkdir()  # no checkpoint
    (tmp_path / "logs").mkdir()
    checkpoints = saved(tmp_path, [2, 3], keep_last=1)
    assert (checkpoints.steps(), checkpoints.names()) == ([3], [])
    assert (tmp_path / "step-00000001").exists()


# --- damage ---


def damage(folder, step):
    file = folder / f"step-{step:08d}" / "arrays.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def test_a_damaged_one_names_the_newest_older_one_that_is_whole(tmp_path):
    checkpoints = saved(tmp_path, [1, 2, 3, 4])
    damage(tmp_path, 4)
    damage(tmp_path, 3)
    with pytest.raises(CheckpointError) as raised:
        checkpoints.restore()
    lines = str(raised.value).splitlines()
    assert lines[0].startswith(f"restore: {tmp_path}/step-00000004/arrays.safetensors is damaged")
    assert lines[-1] == "  the checkpoint of step 2 is whole: restore(2, …)"
    assert raised.value.__notes__[0].startswith("  at test_series.py:")
    assert (checkpoints.latest(), checkpoints.latest(whole=True)) == (4, 2)
    damage(tmp_path, 2)
    damage(tmp_path, 1)
    with pytest.raises(CheckpointError) as raised:
        checkpoints.restore()
    assert "whole" not in str(raised.value)
    assert checkpoints.latest(whole=True) is None


def test_another_structure_is_no_damage(tmp_path):
    checkpoints = saved(tmp_path, [1, 2])
    with pytest.raises(ShapeError) as raised:
        checkpoints.restore(like={"x": 1})
    assert "whole" not in str(raised.value)
    assert checkpoints.restore(like={"step": 0}, strict=False) == {"step": 2}


# --- the background ---


@pytest.fixture
def slow(monkeypatch):
    """Writing waits until the event is set."""
    go = threading.Event()
    original = saving.write_tensors

    def write(path, tensors):
        assert go.wait(30)
        original(path, tensors)

    monkeypatch.setattr(saving, "write_tensors", write)
    yield go
    go.set()


def test_saving_does_not_wait_for_the_disk(slow, tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, trees.small(1))
    assert [n for n in os.listdir(tmp_path) if not n.startswith(".")] == []
    slow.set()
    checkpoints.wait()
    assert os.listdir(tmp_path) == ["step-00000001"]


def test_in_the_foreground_it_is_there_afterwards(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, trees.small(1), background=False)
    assert os.listdir(tmp_path) == ["step-00000001"]


@pytest.mark.parametrize("platform", ["cpu", "cuda"])  # the way of the latter, on the CPU
def test_what_changes_after_the_call_is_not_saved(platform, slow, tmp_path, monkeypatch):
    """NumPy's arrays are changed in place, and weft's donated, while the files are not written."""
    monkeypatch.setattr(Array, "platform", lambda self: platform)
    step = weft.jit(lambda x: x * 2, donate_argnums=0)
    mesh = Mesh(np.array(weft.devices()), "x")
    divided = NamedSharding(mesh, PartitionSpec("x"))
    ours = {
        "computed": step(np_.arange(1000.0)),
        "placed": weft.device_put(np_.arange(1000.0), weft.devices()[-1]),
        "divided": weft.device_put(np_.arange(64.0), divided),
        "small": np_.ones(()),
    }
    theirs, lists = np.arange(1000.0), [1, 2]
    before = {name: np.array(x) for name, x in ours.items()} | {"theirs": theirs.copy()}
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, {"ours": ours, "theirs": theirs, "lists": lists})
    donated = dict(ours)
    for _ in range(3):
        ours = {name: step(x) for name, x in ours.items()}
    theirs[:] = -1
    lists[0] = -1
    assert donated["divided"].is_deleted()
    weft.block_until_ready(ours)
    slow.set()
    restored = checkpoints.restore()
    for name in donated:
        np.testing.assert_array_equal(restored["ours"][name], before[name], name)
    np.testing.assert_array_equal(restored["theirs"], before["theirs"])
    assert restored["lists"] == [1, 2]


def failing(monkeypatch, number=errno.ENOSPC):
    def write(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(saving, "write_tensors", write)


CALLS = {
    "save": lambda c: c.save(2, {}),
    "wait": lambda c: c.wait(),
    "close": lambda c: c.close(),
    "steps": lambda c: c.steps(),
    "names": lambda c: c.names(),
    "latest": lambda c: c.latest(),
    "restore": lambda c: c.restore(1),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_error_in_the_background_is_raised_by_the_next_call(call, tmp_path, monkeypatch):
    checkpoints = saved(tmp_path, [1])
    with monkeypatch.context() as patch:
        failing(patch)
        checkpoints.save(5, trees.small(5))
        with pytest.raises(OSError, match="No space left on device; nothing was written") as raised:
            CALLS[call](checkpoints)
    assert raised.value.errno == errno.ENOSPC
    assert "step-00000005" in str(raised.value)
    assert raised.value.__notes__[0].startswith("  at test_series.py:")
    assert os.listdir(tmp_path) == ["step-00000001"]
    checkpoints.wait()  # once
    trees.same(checkpoints.restore(), trees.small(1))


def test_after_an_error_it_goes_on(tmp_path, monkeypatch):
    checkpoints = saved(tmp_path, [1], keep_last=1)
    with monkeypatch.context() as patch:
        failing(patch)
        with pytest.raises(OSError, match="No space left"):
            checkpoints.save(2, {}, background=False)
    assert checkpoints.steps() == [1]
    checkpoints.save(3, trees.small(3))
    assert checkpoints.steps() == [3]


def test_the_end_of_a_block_waits_and_raises(tmp_path, monkeypatch):
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, {})
    assert os.listdir(tmp_path) == ["step-00000001"]
    with pytest.raises(ValueError, match=r"Checkpoints.save: it is closed\n  fix: "):
        checkpoints.save(2, {})
    checkpoints.close()
    assert checkpoints.restore() == {}
    failing(monkeypatch)
    with pytest.raises(OSError, match="No space left"), Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(2, {})


def test_an_error_in_the_block_is_the_one_that_is_raised(tmp_path, monkeypatch):
    failing(monkeypatch)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, {})
    with pytest.raises(ZeroDivisionError) as raised, checkpoints:
        _ = 1 / 0
    assert raised.value.__notes__[0].startswith("  and then: save: ")


def test_an_error_that_nobody_asks_for_is_a_warning(tmp_path, monkeypatch):
    failing(monkeypatch)
    checkpoints = [Checkpoints(tmp_path)]
    checkpoints[0].save(1, {})
    checkpoints[0]._background._thread.join()
    gc.disable()  # no cycle keeps it
    try:
        with pytest.warns(RuntimeWarning, match=r"Checkpoints\(.*not be written: No space left"):
            checkpoints.clear()
    finally:
        gc.enable()


def test_a_forgotten_one_without_errors_warns_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Checkpoints(tmp_path).save(1, {})
        gc.collect()
    for thread in threading.enumerate():
        if "Checkpoints" in thread.name:
            thread.join()
    assert Checkpoints(tmp_path).steps() == [1]


def test_many_threads_share_one(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    errors = []

    def work(first):
        try:
            for step in range(first, first + 5):
                checkpoints.save(step, trees.small(step))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert checkpoints.steps() == sorted(100 * i + j for i in range(4) for j in range(5))
    for step in checkpoints.steps():
        trees.same(checkpoints.restore(step), trees.small(step))


def test_arrays_are_freed_when_they_are_written(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, {"x": np_.ones(1000)})
    checkpoints.wait()
    assert not any(isinstance(x, series.Snapshot) for x in gc.get_objects())
