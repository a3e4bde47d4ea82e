"""Layouts are values; only the order that arrays have anyway can be asked for."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.compat.layouts import Format, Layout, device_put, with_layout_constraint
from weft.compat.stand_ins import RefusedError


def test_layouts_are_compared_by_their_parts():
    assert Layout((0, 1)) == Layout([0, 1], tiling=())
    assert hash(Layout((0, 1))) == hash(Layout((0, 1)))
    assert Layout((0, 1)) != Layout((1, 0))
    assert Format(Layout((0, 1))).device_local_layout == Layout((0, 1))


def test_the_row_major_order_is_allowed_and_others_are_refused():
    x = np.ones((2, 3))
    for layout in (None, Layout.AUTO, Layout((0, 1))):
        onp.testing.assert_array_equal(with_layout_constraint(x, layout), x)
    with pytest.raises(RefusedError, match=r"order of axes; got Layout\(major_to_minor=\(1, 0\)"):
        with_layout_constraint(x, Layout((1, 0)))


def test_an_array_goes_where_a_format_says():
    sharding = weft.sharding.SingleDeviceSharding(weft.devices()[-1])
    tree = {"a": onp.ones(2), "b": [onp.zeros(3), 1.0]}
    for places in (
        Format(Layout((0,)), sharding),
        {"a": Format(None, sharding), "b": [sharding, Format(None, sharding)]},
    ):
        moved = device_put(tree, places)
        assert {x.sharding for x in weft.tree_util.tree_leaves(moved)} == {sharding}
        onp.testing.assert_array_equal(moved["a"], tree["a"])
    assert device_put(tree)["b"][1].shape == ()
