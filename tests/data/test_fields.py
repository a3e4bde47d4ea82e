"""Stages for the fields of examples."""

import logging

import numpy as np
import pytest

from weft import data
from weft.errors import ShapeError


def run(stage, *examples):
    return list(stage(examples))


def equal(example, *expected):
    for x, y in zip(example, expected, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def test_dup():
    assert run(data.Dup(), (1, 2), (3,)) == [(1, 1, 2), (3, 3)]
    with pytest.raises(ShapeError, match="Dup: example 1: expected a tuple with a first field"):
        run(data.Dup(), (1,), ())


def test_log(capsys, caplog):
    examples = [(np.full(2, i), "a") for i in range(5)]
    with caplog.at_level(logging.INFO):
        assert run(data.Log(2, only_shapes=False), *examples) == examples
    lines = capsys.readouterr().out.splitlines()
    assert lines == [str(examples[i]) for i in (0, 2, 4)]
    assert [record.message for record in caplog.records] == lines
    run(data.Log(), (np.ones((2, 3), np.float32), 5))
    assert capsys.readouterr().out == "(float32[2,3], int64[])\n"
    with pytest.raises(ValueError, match="Log: n_steps_per_example must be at least 1"):
        data.Log(0)


def test_cast_to(capsys):
    x, y, z = np.array([1.5]), np.array([2]), np.array([3])
    equal(*run(data.CastTo(), (x, y, z)), np.int32([1]), np.int32([2]), z)
    equal(*run(data.CastTo(np.float32, (2,)), (x, y, z)), x, y, np.float32([3]))
    equal(*run(data.CastTo("float16", [0]), (1,)), np.array(1, np.float16))
    assert capsys.readouterr().out == ""
    run(data.CastTo(np.int32, debug=True), (x, np.int32([1])))
    assert capsys.readouterr().out == "CastTo: field 0 was float64, becomes int32\n"
    with pytest.raises(ShapeError, match="CastTo: example 0: expected a tuple of arrays"):
        run(data.CastTo(), x)


def test_unbatch():
    x, y = np.arange(6).reshape(3, 2), np.arange(3)
    rows = run(data.UnBatch(), (x, y), [x, y])
    assert len(rows) == 6
    for i, row in enumerate(rows):
        equal(row, x[i % 3], y[i % 3])
    assert [r.tolist() for r in run(data.UnBatch(), x)] == x.tolist()
    batches = list(data.Serial(data.Batch(3), data.UnBatch(), data.Batch(3))(rows))
    equal(batches[1], x, y)
    for bad in ((x, np.ones(2)), (np.float32(1), np.float32(2)), np.float32(1)):
        with pytest.raises(ShapeError, match="UnBatch: example 0: expected"):
            run(data.UnBatch(), bad)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
@pytest.mark.parametrize("mask", [None, 0, 1])
def test_add_loss_weights(shape, mask):
    inputs = np.ones(2)
    targets = np.random.default_rng(0).integers(0, 3, shape)
    weights = np.random.default_rng(1).integers(0, 5, shape)
    for given in ((), (weights,)):
        expected = np.ones(shape) if not given else weights
        expected = np.array(
            [w * (t != mask) for w, t in zip(np.ravel(expected), np.ravel(targets), strict=True)]
        )
        example = inputs, targets, *given
        (out,) = run(data.AddLossWeights(mask), example)
        equal(out, inputs, targets, expected.reshape(shape).astype(np.float32))
        (other,) = data.add_loss_weights(iter([example]), mask)
        equal(other, *out)


def test_examples_of_other_sizes_have_no_weights():
    for example in ((1,), (1, 2, 3, 4), 5):
        assert run(data.AddLossWeights(), example) == [example]
        with pytest.raises(
            ShapeError, match=r"AddLossWeights: example 0: expected a tuple \(inputs"
        ):
            run(data.AddLossWeights(0), example)
    with pytest.raises(ShapeError, match="expected weights that match the targets"):
        run(data.AddLossWeights(0), (1, np.ones(3), np.ones(2)))
    with pytest.raises(TypeError, match="AddLossWeights: id_to_mask must be a number"):
        data.AddLossWeights("0")
