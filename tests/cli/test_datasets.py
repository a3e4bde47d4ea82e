"""The data that are at hand."""

import pathlib
import sysconfig

import numpy as np
import pytest

from weft import data
from weft.cli.datasets import HELD_OUT, Digits, StandardLibrary


def test_digits_are_two_parts_of_all_scans():
    datasets = pytest.importorskip("sklearn.datasets")
    images, digits = datasets.load_digits(return_X_y=True)
    parts = [[*Digits(part, shuffle=False)()] for part in ("train", "eval")]
    assert [len(part) for part in parts] == [1437, 360]
    rows = sorted((*(x.ravel() * 16).tolist(), int(y)) for part in parts for x, y in part)
    assert rows == sorted((*x.tolist(), int(y)) for x, y in zip(images, digits, strict=True))
    image, digit = parts[0][0]
    assert (image.shape, image.dtype, digit.dtype) == ((8, 8, 1), np.float32, np.int32)
    assert len({int(y) for _, y in parts[1]}) == 10


def test_the_library_is_pythons_own_text():
    folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
    windows = [window for window, _ in StandardLibrary(64, "eval", shuffle=False)()]
    text = b"".join((folder / name).read_bytes() for name in HELD_OUT)
    assert np.concatenate(windows).astype(np.uint8).tobytes() == text[: len(windows) * 64]
    first = next(StandardLibrary(40, shuffle=False)())[0].astype(np.uint8).tobytes()
    assert first == sorted(folder.glob("*.py"))[0].read_bytes()[:40]


def test_what_is_held_out_is_not_learnt():
    folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
    stage = StandardLibrary(1000, shuffle=False)
    learnt = b"".join(w.astype(np.uint8).tobytes() for w, _ in stage())
    for name in HELD_OUT:
        assert (folder / name).read_bytes()[:3000] not in learnt
    assert len(learnt) > 1_000_000


def test_shuffled_windows_repeat_by_seed_and_have_a_position():
    def stream():
        return data.Serial(StandardLibrary(16, seed=3), data.Batch(2))()

    one, other = stream(), stream()
    for _ in range(3):
        next(one)
    other.set_state(one.get_state())
    assert np.array_equal(next(one)[0], next(other)[0])


def test_other_parts_are_errors():
    with pytest.raises(ValueError, match="Digits: part must be 'train' or 'eval'"):
        Digits("test")
    with pytest.raises(ValueError, match="StandardLibrary: part must be 'train' or 'eval'"):
        StandardLibrary(8, "test")
