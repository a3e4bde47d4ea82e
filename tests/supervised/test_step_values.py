"""Numbers of steps that stay on the device: means, the first that is not finite, resuming."""

import math

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.supervised.step_values import GATHERED, StepValues, scalar_of


def collected(numbers):
    values = StepValues()
    for number in numbers:
        values.add({"loss": np.asarray(number, "float32"), "norm": np.asarray(-number, "float32")})
    return values


@pytest.mark.parametrize("count", [1, GATHERED - 1, GATHERED, 3 * GATHERED + 5])
def test_means_are_exact(count):
    numbers = onp.random.default_rng(count).normal(size=count).astype("float32")
    values = collected(numbers)
    mean = math.fsum(map(float, numbers)) / count
    assert values.means() == {"loss": mean, "norm": -mean}
    assert len(values) == count
    assert onp.array_equal(values.arrays()["loss"], numbers)


def test_asking_in_between_changes_nothing():
    numbers = onp.random.default_rng(0).normal(size=150).astype("float32")
    values = StepValues()
    for i, number in enumerate(numbers):
        values.add({"loss": np.asarray(number)})
        if i % 7 == 0:
            values.means()
    assert values.means() == {"loss": math.fsum(map(float, numbers)) / 150}


def test_a_resumed_run_has_the_same_means():
    numbers = onp.random.default_rng(0).normal(size=200).astype("float32")
    state = collected(numbers[:90]).get_state()
    resumed = StepValues()
    resumed.set_state(state)
    for number in numbers[90:]:
        resumed.add({"loss": np.asarray(number), "norm": np.asarray(-number)})
    assert resumed.means() == collected(numbers).means()
    assert len(resumed) == 200


def test_the_first_that_is_not_finite():
    numbers = onp.ones(2 * GATHERED + 3, "float32")
    assert collected(numbers).first_nonfinite() is None
    numbers[GATHERED + 2] = onp.inf
    numbers[GATHERED + 7] = onp.nan
    assert collected(numbers).first_nonfinite() == (GATHERED + 2, "loss")
    assert collected(numbers).means()["loss"] != collected(numbers).means()["loss"]


def test_an_earlier_step_comes_before_an_earlier_name():
    values = StepValues()
    values.add({"loss": 1.0, "norm": float("nan")})
    values.add({"loss": float("nan"), "norm": 1.0})
    assert values.first_nonfinite() == (0, "norm")


def test_infinities_of_both_signs_have_no_mean():
    values = collected([onp.inf, -onp.inf])
    assert math.isnan(values.means()["loss"])


def test_collecting_waits_for_nothing():
    class Unread(float):
        def __float__(self):
            raise AssertionError("read")

    values = StepValues()
    for _ in range(GATHERED - 1):
        values.add({"loss": Unread()})
    assert len(values) == GATHERED - 1


def test_numbers_stay_on_the_device_when_they_are_gathered():
    step = weft.jit(lambda x: x + 1)
    values = StepValues()
    for i in range(GATHERED):
        values.add({"loss": step(float(i))})
    (part,) = values._gathered
    assert type(part["loss"]).__name__ == "Array"
    assert part["loss"].shape == (GATHERED,)


def test_clear_forgets_all():
    values = collected([1.0, 2.0])
    values.clear()
    assert len(values) == 0
    assert values.means() == {}
    assert values.first_nonfinite() is None
    assert values.get_state() == {}


def test_other_names_are_refused():
    values = StepValues()
    values.add({"loss": 1.0})
    values.add({"perplexity": 1.0})
    with pytest.raises(ValueError, match="same names; got \\['perplexity'\\] after \\['loss'\\]"):
        values.means()


@pytest.mark.parametrize("value", [np.ones(2), [1.0], "1", None])
def test_what_is_no_scalar_is_refused(value):
    values = StepValues()
    values.add({"loss": value})
    with pytest.raises(ValueError, match="StepValues: 'loss' must be a scalar"):
        values.means()


@pytest.mark.parametrize(
    "value", [2, 2.0, onp.float32(2), onp.asarray(2), np.asarray(2.0, "bfloat16")]
)
def test_scalars(value):
    assert scalar_of("f", "x", value) == 2.0


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (onp.ones((2, 3)), "an array of shape \\(2, 3\\)"),
        (onp.ones(1), "an array of shape \\(1,\\)"),
        *((x, repr(x)) for x in ("1", True, None)),
        (1j, "1j"),
    ],
)
def test_no_scalars(value, got):
    with pytest.raises(ValueError, match=f"f: 'x' must be a scalar; got .*{got}") as error:
        scalar_of("f", "x", value)
    assert "fix: np.mean(x)" in str(error.value)
