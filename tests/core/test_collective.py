"""What a collective states: its rule, whether devices meet in it, whether all get the same."""

import numpy as onp
import pytest

import weft
from weft import lax, numpy as np
from weft.core.jaxpr import only_computes, uses_axis
from weft.core.primitive import Collective, Primitive, Shared, registry
from weft.primitives.collectives import axis_index, psum
from weft.programs.uniformity import Divergence, Scope


@pytest.fixture
def weighted():
    """A sum over a named axis in which element i counts i + 1 times."""
    primitive = Primitive("weighted_sum", "The sum of (i + 1) x over an axis.")
    primitive.type(lambda x, axes, groups: x)
    primitive.batch(lambda args, batched, size, **params: primitive(args[0], **params))

    def on_axis(args, batched, axis, **params):
        x = args[0] if batched[0] else np.broadcast_to(args[0], (axis.size, *args[0].shape))
        weights = np.arange(1, axis.size + 1, dtype=x.dtype)
        return Shared(np.tensordot(weights, x, 1))

    primitive.collective = Collective(on_axis, equal_results=True)
    yield lambda x: primitive(x, axes=("i",), groups=None)
    del registry["weighted_sum"]


X = onp.array([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]], onp.float32)


def test_vmap_of_an_axis_that_is_named_calls_the_rule(weighted):
    out = weft.vmap(weighted, axis_name="i", out_axes=None)(X)
    onp.testing.assert_array_equal(out, onp.array([1, 2, 3]) @ X)


def test_it_is_called_though_no_argument_is_batched(weighted):
    out = weft.vmap(lambda x: x + weighted(np.float32(4)), axis_name="i")(X)
    onp.testing.assert_array_equal(out, X + 24)


def test_other_axes_are_batched_by_the_batch_rule(weighted):
    along = weft.vmap(weft.vmap(weighted, axis_name="j"), axis_name="i", out_axes=None)
    onp.testing.assert_array_equal(along(X), onp.array([1, 2, 3]) @ X)


def test_without_a_rule_it_refers_to_no_axis():
    primitive = Primitive("meeting", "Devices meet.")
    try:
        primitive.collective = Collective()
        assert not uses_axis(primitive, (), "i")
        assert uses_axis(psum, (("axes", ("i",)),), "i")
        assert not uses_axis(psum, (("axes", ("i",)),), "j")
    finally:
        del registry["meeting"]


def with_axis(f):
    return weft.make_jaxpr(f, axis_env=[("i", 3)])(1.0)


def test_programs_in_which_devices_meet_do_more_than_compute():
    assert only_computes(with_axis(lambda x: x + lax.axis_index("i")))
    assert not only_computes(with_axis(lambda x: lax.psum(x, "i")))
    assert psum.collective.communicates
    assert not axis_index.collective.communicates


@pytest.mark.parametrize(
    ("f", "varies"),
    [
        (lambda x: lax.psum(x, "i"), False),
        (lambda x: lax.pmax(x, "i"), False),
        (lambda x: lax.all_gather(x, "i"), False),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), True),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1], [2]]), True),
    ],
    ids=["psum", "pmax", "all_gather", "ppermute", "psum in groups"],
)
def test_results_that_are_equal_on_all_devices_do_not_vary(f, varies):
    analysis = Divergence({"i": 3}, Scope().enter([("i", "i", 3)]))
    (along,) = analysis.vary(with_axis(f), [frozenset("i")])
    assert along == (frozenset("i") if varies else frozenset())
