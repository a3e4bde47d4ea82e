"""The examples that train for longer, in small: the demo, the model of bytes, and CIFAR-10."""

import itertools
import math
from pathlib import Path

import examples_folder
import numpy as np
import pytest


@pytest.fixture(scope="module")
def language_model():
    return examples_folder.load("language_model")


@pytest.mark.filterwarnings("ignore:BatchNorm in mode 'eval'")  # it saw three batches
def test_demo_trains_both_networks_and_prints_a_sample(capsys):
    demo = examples_folder.load("demo")
    accuracy, bits = demo.main(picture="", quick=True)
    assert 0 <= accuracy <= 1
    assert bits < 8.5
    text = capsys.readouterr().out
    assert "test accuracy" in text
    assert "class Loop:" in text


def test_data_for_a_while_end_when_the_time_is_over():
    demo = examples_folder.load("demo")
    assert list(demo.for_a_while(iter(range(5)), 60)) == [0, 1, 2, 3, 4]
    assert list(demo.for_a_while(itertools.count(), 0)) == [0, 1]


def test_runs_have_the_numbers_of_their_own_bytes(language_model):
    text = np.array([[7, 1, 2, 3, 9, 1, 2, 3, 5, 1, 2, 4]], "int32")
    numbers = np.asarray(language_model.runs(3, 12)(text))[0]
    assert numbers[3] == numbers[7] != numbers[11]
    assert len({*numbers.tolist()}) == len(numbers) - 1
    assert 0 <= numbers.min() <= numbers.max() < 2**12
    changed = text.copy()
    changed[0, 6] = 8
    differs = np.flatnonzero(np.asarray(language_model.runs(3, 12)(changed))[0] != numbers)
    assert differs.tolist() == [6, 7, 8]


def test_each_held_out_byte_counts_once(language_model):
    _, test = language_model.load(1)
    task, counted = language_model.evaluation(test)
    found = b"".join(
        row[count > 0].astype("uint8").tobytes()
        for _, rows, counts in task.labeled_data
        for row, count in zip(rows, counts, strict=True)
    )
    assert found == counted
    assert counted in test
    assert len(test) - len(counted) < 64 * 17
    assert task.n_eval_batches == len(task.labeled_data)


def test_modules_that_are_held_out_are_not_learnt_from(language_model):
    learnt, test = language_model.load()
    assert len(learnt) > 20 * len(test)
    lines = [line for line in test.splitlines() if len(line) > 60][::10]
    assert sum(line in learnt for line in lines) < 0.1 * len(lines)


def test_a_finished_run_of_the_language_model_is_only_read(tmp_path, capsys, language_model):
    first = language_model.main(folder=str(tmp_path / "run"), quick=True)
    assert "Step      1: " in capsys.readouterr().out
    second = language_model.main(folder=str(tmp_path / "run"), quick=True)
    assert first == second
    text = capsys.readouterr().out
    assert "Step      2: " not in text
    assert "bits per byte" in text
    assert math.log2(256) + 0.5 > first[0] > first[1]


def test_a_language_model_takes_at_most_25_lines():
    page = Path(__file__).parents[2] / "docs" / "training" / "index.md"
    program = page.read_text().split("```python\n")[1].partition("```")[0]
    assert sum(bool(line.strip()) for line in program.splitlines()) <= 25
    for name in ("TrainTask", "EvalTask", "output_dir", "loop.run", "autoregressive_sample"):
        assert name in program


# --- CIFAR-10 ---


def written(folder, names, n=24):
    """Files of the format, of images whose color tells their label."""
    rng = np.random.RandomState(0)
    for name in names:
        records = rng.randint(0, 60, (n, 3073)).astype("uint8")
        labels = np.arange(n) % 3
        records[:, 0] = labels
        for row, label in zip(records, labels, strict=True):
            row[1 + 1024 * label : 1 + 1024 * (label + 1)] += 150
        (folder / name).write_bytes(records.tobytes())


@pytest.mark.filterwarnings("ignore:BatchNorm in mode 'eval'")
def test_cifar_of_generated_files_is_learnt(tmp_path, capsys):
    cifar = examples_folder.load("cifar")
    written(tmp_path, ["data_batch_1.bin", "test_batch.bin"])
    score, fell = cifar.main(str(tmp_path), wide=1, quick=True)
    assert 0 <= score <= 1
    assert fell > 0.1
    assert "of 24 images" in capsys.readouterr().out


def test_cifar_images_have_their_channels_last(tmp_path):
    cifar = examples_folder.load("cifar")
    written(tmp_path, ["test_batch.bin"])
    images, labels = cifar.load(tmp_path / "test_batch.bin")
    assert images.shape == (24, 32, 32, 3)
    assert (images.mean(axis=(1, 2)).argmax(axis=1) == labels).all()
    rows = np.frombuffer((tmp_path / "test_batch.bin").read_bytes(), "uint8").reshape(24, 3073)
    assert images[3, 5, 7, 2] == rows[3, 1 + 2048 + 5 * 32 + 7]


def test_changed_images_are_shifted_or_mirrored():
    cifar = examples_folder.load("cifar")
    image = np.random.RandomState(0).randint(1, 255, (1, 32, 32, 3)).astype("uint8")
    batches = itertools.repeat((np.repeat(image, 64, axis=0), np.zeros(64, "int32")), 1)
    ((changed, _),) = cifar.changed(batches, np.random.default_rng(0))
    padded = np.pad(cifar.scaled(image[0]), ((4, 4), (4, 4), (0, 0)))
    windows = [padded[i : i + 32, j : j + 32] for i in range(9) for j in range(9)]
    windows = np.stack([*windows, *[w[:, ::-1] for w in windows]])
    kinds = [np.flatnonzero((windows == one).all(axis=(1, 2, 3))) for one in changed]
    assert all(len(kind) == 1 for kind in kinds)
    assert len({*np.concatenate(kinds).tolist()}) > 30


@pytest.mark.parametrize("content", [None, b"", bytes(3072), b"\x0a" + bytes(3072)])
def test_cifar_says_what_to_download(tmp_path, content):
    cifar = examples_folder.load("cifar")
    if content is not None:
        (tmp_path / "data_batch_1.bin").write_bytes(content)
    with pytest.raises(SystemExit, match=r"(?s)data_batch_1.bin .*fix: download"):
        cifar.main(str(tmp_path), quick=True)
