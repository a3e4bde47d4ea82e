"""Branches in which devices meet, where a device's way depends on more than its argument.

A branch stays a choice in the program only where all devices that meet in it choose alike. The text
is looked at first: devices that went different ways would wait for each other for ever.
"""

import numpy as np
import pytest

import weft
from weft import jit, lax, pmap
from weft.experimental import io_callback
from weft.sharding import PartitionSpec as P

pytestmark = pytest.mark.devices(4)

X = np.int32([0, 1, 2, 3])


def meeting(index, x, axis="i"):
    """The sum over devices for those whose index is positive; the others' negated number."""
    return lax.cond(index > 0, lambda x: lax.psum(x, axis), lambda x: -x, x)


def chosen(choice):
    """A number by a choice in which nobody meets: it stays one."""
    return lax.cond(choice, lambda: 1, lambda: 0)


DIVERGING = {  # functions of a number, in which every device with a number above 0 meets the others
    "the result of a choice between constants": lambda x: meeting(chosen(x > 0), x),
    "how many steps a loop takes": lambda x: meeting(
        lax.while_loop(lambda k: k < x, lambda k: k + 1, 0), x
    ),
    "a carry that differs from the second step on": lambda x: meeting(
        lax.scan(lambda c, _: ((c[1], c[1] + x), None), (0, 0), None, length=2)[0][0], x
    ),
    "a choice in a jitted function": lambda x: jit(lambda k, x: meeting(chosen(k > 0), x))(x, x),
}


def check(f, x, expected, choices=0):
    """The values of a function, and how many choices are left in its program."""
    assert jit(f).lower(x).as_text().count("stablehlo.case") == choices
    np.testing.assert_array_equal(f(x), expected)


@pytest.mark.parametrize("name", DIVERGING)
def test_all_branches_are_computed_where_devices_choose_differently(name):
    choices = 1 if "choice" in name else 0
    check(pmap(DIVERGING[name], axis_name="i"), X, np.where(X > 0, X.sum(), -X), choices)


def test_the_host_may_answer_each_device_differently():
    def f(x):
        index = io_callback(lambda: np.int32(1), weft.ShapeDtypeStruct((), "int32"))
        return meeting(index, x)

    check(pmap(f, axis_name="i"), X, np.full(4, X.sum()))


def test_an_argument_that_only_the_outer_map_divides():
    def f(x, ys):
        return pmap(lambda x, y: meeting(x, y), axis_name="j", in_axes=(None, 0))(x, ys)

    x, ys = np.int32([0, 1]), np.int32([[1, 2], [3, 4]])
    check(lambda x: pmap(f, axis_name="i")(x, ys), x, [[-1, -2], [4, 6]])


def test_a_name_that_hides_the_outer_maps():
    """The outer map divides nothing that the inner choice depends on."""

    def f(x, ys):
        return x + pmap(lambda y: meeting(y, y), axis_name="i")(ys)

    ys = np.int32([-1, 2])
    outer = pmap(f, axis_name="i", in_axes=(0, None))
    check(lambda x: outer(x, ys), np.int32([0, 10]), [[1, 1], [11, 11]])


def test_arrays_may_be_divided_along_axes_that_are_not_mapped_over():
    """To move their parts, devices meet in branches without collectives too."""

    def f(x):
        return lax.cond(lax.axis_index("a") > 0, lambda x: x * 2, lambda x: x, x)

    mesh = weft.make_mesh((2, 2), ("a", "b"))
    along = {"mesh": mesh, "in_specs": P("a"), "out_specs": P("a")}
    check(weft.shard_map(f, axis_names={"a"}, **along), X, [0, 1, 4, 6])
    check(weft.shard_map(f, **along), X, [0, 1, 4, 6], choices=1)


def test_a_choice_that_all_make_alike_stays_one():
    for f in (
        lambda x: meeting(lax.psum(x, "i"), x),
        lambda x: meeting(lax.while_loop(lambda k: k < 3, lambda k: k + 1, 0), x),
    ):
        mapped = pmap(f, axis_name="i")
        assert "stablehlo.case" in jit(mapped).lower(X).as_text()
        np.testing.assert_array_equal(mapped(X), np.full(4, X.sum()))
