"""Event files, read by TensorBoard's own reader."""

import glob
import os
import signal
import subprocess
import sys
import types

import numpy as onp
import pytest

import weft.numpy as np
from weft.supervised.event_files import SummaryWriter, is_available, pixels_of

pytest.importorskip("tensorboardX")
# A module by which TensorBoard knows that it shall read without TensorFlow, whose import is slow.
sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("notf"))
accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def read(directory):
    events = accumulator.EventAccumulator(
        str(directory), size_guidance=dict.fromkeys(("scalars", "images", "histograms"), 0)
    )
    return events.Reload()


def scalars(directory, tag):
    return [(e.step, e.value) for e in read(directory).Scalars(tag)]


def image_of(event):
    """The pixels of a recorded image."""
    import io

    from PIL import Image

    return onp.asarray(Image.open(io.BytesIO(event.encoded_image_string)))


def test_scalars_come_back(tmp_path):
    writer = SummaryWriter(tmp_path / "train")
    for step in range(1, 4):
        writer.scalar("metrics/CrossEntropyLoss", np.asarray(1 / step), step)
    writer.scalars({"training/steps per second": 12.5, "training/learning_rate": 0.125}, 3)
    writer.close()
    events = read(tmp_path / "train")
    assert sorted(events.Tags()["scalars"]) == [
        "metrics/CrossEntropyLoss",
        "training/learning_rate",
        "training/steps per second",
    ]
    expected = [(step, float(onp.float32(1 / step))) for step in (1, 2, 3)]
    assert scalars(tmp_path / "train", "metrics/CrossEntropyLoss") == expected
    assert scalars(tmp_path / "train", "training/steps per second") == [(3, 12.5)]


def test_records_are_in_the_file_before_it_is_closed(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.scalar("loss", 0.5, 1)
    assert scalars(tmp_path, "loss") == [(1, 0.5)]
    writer.scalar("loss", 0.25, 2)
    assert scalars(tmp_path, "loss") == [(1, 0.5), (2, 0.25)]
    writer.close()


KILLED = """
import sys
from weft.supervised.event_files import SummaryWriter
writer = SummaryWriter(sys.argv[1])
step = 0
while True:
    step += 1
    writer.scalar("loss", step, step)
    if step == 50:
        print("go", flush=True)
"""


def test_a_killed_run_leaves_whole_records(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "go\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    steps = [step for step, _ in scalars(tmp_path, "loss")]
    assert len(steps) >= 50
    assert steps == [*range(1, len(steps) + 1)]


def test_a_resumed_run_takes_the_place_of_the_steps_after_the_checkpoint(tmp_path):
    first = SummaryWriter(tmp_path)
    for step in range(1, 8):
        first.scalar("loss", float(step), step)
    first.close()
    second = SummaryWriter(tmp_path, first_step=5)
    for step in (5, 6):
        second.scalar("loss", 10.0 * step, step)
    second.close()
    assert len(os.listdir(tmp_path)) == 2
    assert scalars(tmp_path, "loss") == [
        *((float(step), float(step)) for step in range(1, 5)),
        (5, 50.0),
        (6, 60.0),
    ]


def test_files_of_one_second_have_different_names(tmp_path):
    for step in range(3):
        writer = SummaryWriter(tmp_path)
        writer.scalar("loss", 1.0, step)
        writer.close()
    assert len(glob.glob(f"{tmp_path}/events.out.tfevents.*")) == 3
    assert [step for step, _ in scalars(tmp_path, "loss")] == [0, 1, 2]


def test_images_come_back(tmp_path):
    writer = SummaryWriter(tmp_path)
    red = onp.zeros((4, 6, 3), "uint8")
    red[..., 0] = 200
    writer.image("red", red, 1)
    writer.image("two words (grey)", np.asarray([[0.0, 0.5], [1.0, 0.25]]), 2)
    writer.images("several", onp.arange(5, dtype="uint8").reshape(5, 1, 1) * onp.ones((1, 2, 3)), 3)
    writer.close()
    events = read(tmp_path)
    (event,) = events.Images("red")
    assert (event.step, event.width, event.height) == (1, 6, 4)
    assert onp.array_equal(image_of(event), red)
    assert image_of(events.Images("two words (grey)")[0])[..., 0].tolist() == [[0, 128], [255, 64]]
    assert image_of(events.Images("several")[0]).shape == (4, 9, 3)  # 3 in a row


@pytest.mark.parametrize(
    ("image", "pixels"),
    [
        (onp.array([[0.0, 1.0]]), [0, 255]),
        (onp.array([[-1.0, 1.0]]), [0, 255]),
        (onp.array([[0, 7, 14]]), [0, 128, 255]),
        (onp.array([[onp.nan, 1.0]]), [0, 255]),
        (onp.array([[3, 200]], "uint8"), [3, 200]),
        (onp.array([[5.0, 5.0]]), [0, 0]),
    ],
)
def test_numbers_become_grey(image, pixels):
    assert pixels_of("x", image)[0, :, 0].tolist() == pixels
    assert pixels_of("x", image).shape[-1] == 3


@pytest.mark.parametrize("shape", [(), (3,), (4, 4, 2), (2, 4, 4, 3), (0, 4, 3)])
def test_arrays_that_are_no_image_are_refused(shape, tmp_path):
    with pytest.raises(ValueError, match=r"image: 'x' must be an array \[height, width, channels"):
        SummaryWriter(tmp_path).image("x", onp.zeros(shape))
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("shape", [(), (3, 3), (0, 4, 4), (1, 2, 3, 4, 5)])
def test_arrays_that_are_no_images_are_refused(shape, tmp_path):
    with pytest.raises(ValueError, match=r"images: 'x' must be an array \[n, height, width"):
        SummaryWriter(tmp_path).images("x", onp.zeros(shape))


def test_histograms_come_back(tmp_path):
    writer = SummaryWriter(tmp_path)
    numbers = onp.random.default_rng(0).normal(size=(50, 20))
    numbers[0, 0] = onp.nan
    writer.histogram("weights", numbers, 7, bins=10)
    writer.histogram("nothing", onp.array([onp.inf]), 7)
    writer.histogram("none", onp.zeros(0), 7)
    writer.close()
    events = read(tmp_path)
    assert events.Tags()["histograms"] == ["weights"]
    (event,) = events.Histograms("weights")
    finite = numbers[onp.isfinite(numbers)]
    value = event.histogram_value
    assert (event.step, value.num) == (7, 999)
    assert (value.min, value.max) == (finite.min(), finite.max())
    counts, edges = onp.histogram(finite, 10)
    assert list(value.bucket) == [0, *counts]
    assert onp.allclose(value.bucket_limit, edges)


def test_texts_come_back(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.text("sample", "To be, ü", 3)
    writer.close()
    (event,) = read(tmp_path).Tensors("sample/text_summary")
    assert event.tensor_proto.string_val[0].decode() == "To be, ü"


@pytest.mark.parametrize("value", [onp.ones(2), "1", None])
def test_a_value_that_is_no_scalar_is_refused(value, tmp_path):
    with pytest.raises(ValueError, match="SummaryWriter: 'loss' must be a scalar"):
        SummaryWriter(tmp_path).scalar("loss", value, 1)
    assert not os.listdir(tmp_path)


def test_a_writer_that_is_off_writes_nothing(tmp_path):
    writer = SummaryWriter(tmp_path, enable=False)
    writer.scalar("a", 1.0)
    writer.image("a", onp.zeros((2, 2)))
    writer.images("a", onp.zeros((2, 2, 2)))
    writer.histogram("a", onp.ones(3))
    writer.text("a", "b")
    writer.flush()
    writer.close()
    assert not os.listdir(tmp_path)
    with pytest.raises(TypeError, match="SummaryWriter: enable must be True or False"):
        SummaryWriter(tmp_path, enable=1)


def test_without_the_package_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(
        ImportError, match="SummaryWriter needs the package tensorboardX\n  fix: pip install"
    ):
        SummaryWriter(tmp_path).scalar("a", 1.0)


def test_availability_is_told_without_importing():
    code = (
        "import sys; from weft.supervised import event_files as e; print(e.is_available(), "
        "'tensorboardX' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
    assert is_available()
