"""History: values by mode, metric and step; JSON; refusals."""

import json
import math

import numpy as onp
import pytest

from weft.fastmath import numpy as jnp
from weft.supervised.history import History


def filled():
    history = History()
    history.append("train", "loss", 1, 2.5)
    history.append("train", "loss", 2, jnp.array(1.5))
    history.append("train", "accuracy", onp.int64(2), onp.float32(0.1))
    history.append("eval", "loss", 2, 3)
    return history


def test_values_in_the_order_in_which_they_came():
    history = filled()
    assert history.get("train", "loss") == [(1, 2.5), (2, 1.5)]
    assert history.get("eval", "loss") == [(2, 3.0)]
    assert history.modes == ["eval", "train"]
    assert history.metrics_for_mode("train") == ["accuracy", "loss"]


def test_values_are_pythons():
    history = filled()
    for mode in history.modes:
        for metric in history.metrics_for_mode(mode):
            for step, value in history.get(mode, metric):
                assert (type(step), type(value)) == (int, float)


def test_what_is_unknown_is_empty_and_leaves_nothing_behind():
    history = filled()
    before = history.to_dict()
    assert history.get("predict", "loss") == []
    assert history.get("train", "perplexity") == []
    assert history.metrics_for_mode("predict") == []
    assert history.to_dict() == before
    assert History().modes == []


def test_copies_do_not_share():
    history = filled()
    history.get("train", "loss").clear()
    history.to_dict()["_values"]["train"]["loss"].clear()
    history.to_dict()["_values"].clear()
    assert history.get("train", "loss") == [(1, 2.5), (2, 1.5)]


def test_json_keeps_every_bit():
    history = filled()
    history.append("train", "loss", 3, math.nan)
    history.append("train", "loss", 4, math.inf)
    read = History.from_dict(json.loads(json.dumps(history.to_dict())))
    assert repr(read.to_dict()) == repr(history.to_dict())
    assert read.get("train", "accuracy") == [(2, float(onp.float32(0.1)))]
    read.append("train", "loss", 5, 1.0)
    assert len(history.get("train", "loss")) == 4


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (jnp.ones(3), r"float32\[3\]"),
        (onp.ones((1, 1)), r"float64\[1,1\]"),
        ("0.5", "'0.5'"),
        (None, "None"),
        ([1.0], r"\[1.0\]"),
    ],
)
def test_a_metric_that_is_no_scalar_is_refused(value, got):
    with pytest.raises(TypeError, match=f"the metric 'loss' must be a scalar; got {got}\n  fix: "):
        History().append("train", "loss", 1, value)


def test_a_step_that_is_no_int_is_refused():
    with pytest.raises(TypeError, match=r"the step of 'loss' must be an int; got 1\.5"):
        History().append("train", "loss", 1.5, 0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"_values": []},
        {"_values": {"train": []}},
        {"_values": {"train": {"loss": 1.0}}},
        {"_values": {"train": {"loss": [1.0]}}},
        {"_values": {"train": {"loss": [[1, 2.0, 3.0]]}}},
    ],
)
def test_another_form_is_refused(wrong):
    with pytest.raises(ValueError, match=r"History\.from_dict: expected {'_values'"):
        History.from_dict(wrong)
