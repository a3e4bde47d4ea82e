"""The example that trains on a mesh with two axes, and the prediction of what it sends."""

import collections
import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import sampling

import weft
from weft.experimental.communication import (
    GPT2_SMALL,
    Transformer,
    collectives,
    predicted,
)
from weft.sharding import PartitionSpec as P

EXAMPLES = Path(__file__).parents[2] / "examples"
MESHES = [(2, 4), (4, 2), (8, 1), (1, 8)]

pytestmark = pytest.mark.devices(8)


# --- training ---


@pytest.fixture(scope="module")
def alone(two_axis):
    """Parameters and losses of ten steps on one device."""
    return two_axis.train(None, 10)


@pytest.mark.parametrize("shape", sampling.some(MESHES, 2, "meshes"))
def test_losses_are_those_of_one_device(two_axis, alone, shape):
    mesh = two_axis.make_mesh(*shape)
    params, losses = two_axis.train(mesh, 10)
    np.testing.assert_allclose(losses, alone[1], atol=1e-5)
    weft.tree_util.tree_map(
        lambda x, y: np.testing.assert_allclose(x, y, atol=1e-4), params, alone[0]
    )
    embedding = params["ends"]["embedding"]
    assert embedding.sharding.spec == P("model", None)
    assert embedding.devices() == set(mesh.devices.flat)
    rows = embedding.shape[0] // shape[1]
    assert {s.data.shape for s in embedding.addressable_shards} == {(rows, 64)}


def test_it_prints_how_the_loss_falls_where_parameters_lie_and_what_is_sent(
    two_axis, arguments, capsys
):
    arguments("--data", "4", "--model", "2")
    assert two_axis.main() == 0
    text = capsys.readouterr().out
    losses = [float(line.split()[-1]) for line in text.splitlines() if line.startswith("step")]
    assert losses[-1] < losses[0] / 2
    assert "PartitionSpec('model', None)" in text
    _, _, tables = text.partition("what a step sends")
    compiled, _, guessed = tables.partition("predicted to send")
    assert compiled.splitlines()[1:5] == guessed.splitlines()[1:5]


def test_too_few_devices_are_told_of(two_axis):
    with pytest.raises(SystemExit, match=r"64 × 64 needs 4096 devices.*\n.*WEFT_CPU_DEVICES=4096"):
        two_axis.make_mesh(64, 64)


# --- the prediction ---


def amounts(found):
    """How many arrays of each size are exchanged along which axes. (Of each size, not shape: XLA
    sums some gradients before, some after it permutes their axes.)"""
    count = collections.Counter()
    for c in found:
        for dtype, shape in c.arrays:
            count[c.kind, c.axes, dtype, math.prod(shape)] += c.times
    return count


def test_model_of_the_prediction_is_that_of_the_example(two_axis):
    params = weft.eval_shape(lambda: two_axis.init_params(weft.random.PRNGKey(0), two_axis.SIZES))
    specs = two_axis.partitions()
    for part, stated, stacked in [
        ("blocks", two_axis.SIZES.blocks(), (two_axis.SIZES.layers,)),
        ("ends", two_axis.SIZES.ends(), ()),
    ]:
        assert {n: x.shape for n, x in params[part].items()} == {
            n: (*stacked, *p.shape) for n, p in stated.items()
        }
        for name, p in stated.items():
            spec = (*(None for _ in stacked), *p.spec)
            assert tuple(specs[part][name]) == spec, name


@pytest.mark.parametrize("shape", MESHES)
def test_prediction_is_what_the_compiled_step_sends(two_axis, shape):
    mesh = two_axis.make_mesh(*shape)
    found = collectives(two_axis.compiled_step(mesh), mesh)
    guessed = predicted(two_axis.SIZES, mesh, two_axis.BATCH)
    assert amounts(found) == amounts(guessed)
    assert sum(c.sent for c in found) == pytest.approx(sum(c.sent for c in guessed), rel=1e-12)


def test_prediction_follows_other_sizes(two_axis):
    sizes = Transformer(layers=3, width=48, heads=4, hidden=80, length=10, vocabulary=36)
    mesh = two_axis.make_mesh(4, 2)
    found = collectives(two_axis.compiled_step(mesh, sizes, batch=4), mesh)
    assert amounts(found) == amounts(predicted(sizes, mesh, 4))


COMPILE = """
    import sys
    sys.path[:0] = {folders}
    from test_two_axis_transformer import GPT2_SMALL, amounts, collectives, predicted
    import two_axis_transformer as example

    for data, model in {shapes}:
        mesh = example.make_mesh(data, model)
        found = collectives(example.compiled_step(mesh, GPT2_SMALL, batch=2 * data), mesh)
        guessed = predicted(GPT2_SMALL, mesh, batch=2 * data)
        assert amounts(found) == amounts(guessed), (amounts(found), amounts(guessed))
        print(data * model, sum(c.sent for c in found) / 1e6)
"""


@pytest.mark.slow
def test_prediction_for_gpt2_is_what_its_step_compiled_for_many_devices_sends():
    """Compiled for up to 1,024 devices that the CPU acts as, and not run."""
    script = COMPILE.format(
        folders=[str(EXAMPLES), str(Path(__file__).parent)], shapes=[(2, 4), (16, 4), (256, 4)]
    )
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=os.environ | {"WEFT_CPU_DEVICES": "1024"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [count for count, _ in rows] == ["8", "64", "1024"]
    # The same by hand, in MB: along `model` 48 sums of a block's activations, two of the ends', and
    # three numbers a token; along `data` all weights, those of the embedding twice, and the loss.
    parts, width, tokens = 4, 768, 2 * 1024
    of_model = 1.5 * 4 * tokens * (50 * width + 3) / 1e6
    block = (12 * width**2 + 7 * width) / parts + 6 * width
    ends = 2 * 50_304 * width / parts + 1024 * width + 2 * width
    for (_, sent), data in zip(rows, [2, 16, 256], strict=True):
        of_data = 2 * (data - 1) / data * 4 * (12 * block + ends + 1) / 1e6
        assert float(sent) == pytest.approx(of_model + of_data, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mesh": {"data": 8}}, ["'model'", "data"]),
        ({"mesh": {"data": 8, "model": 5}}, ["parts"]),
        ({"batch": 9}, ["9 sequences", "8 parts"]),
        ({"model": Transformer(2, 50, 4, 64, 16, 64)}, ["4 heads", "50"]),
    ],
)
def test_what_cannot_be_divided_is_refused(change, words):
    options = {"model": GPT2_SMALL, "mesh": {"data": 8, "model": 4}, "batch": 8} | change
    with pytest.raises(ValueError, match="predicted: ") as caught:
        predicted(options["model"], options["mesh"], options["batch"])
    assert all(word in str(caught.value) for word in words), caught.value


def test_gpt2_has_as_many_parameters_as_are_stated():
    count = sum(math.prod(p.shape) for p in GPT2_SMALL.ends().values())
    count += GPT2_SMALL.layers * sum(math.prod(p.shape) for p in GPT2_SMALL.blocks().values())
    filled_up = (50_304 - 50_257) * 768
    assert count - filled_up == 124_439_808
