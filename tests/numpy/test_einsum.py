"""einsum against NumPy's: booleans, empty axes, numbers for labels, paths, one's own product."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax

RNG = onp.random.default_rng(0)
FLAGS, MORE = RNG.random((3, 4)) > 0.5, RNG.random((4, 3)) > 0.5
SQUARE = RNG.random((3, 3)) > 0.5
MANY = onp.ones((300, 300), bool)
NONE = onp.zeros((0, 2), "f")
X, Y = RNG.random((2, 3)).astype("f"), RNG.random((3, 2)).astype("f")


def agrees(*args, **options):
    expected = onp.einsum(*args)
    run = lambda: np.einsum(*args, **options)  # noqa: E731
    for found in (run(), run(), weft.jit(run)()):  # as it is, from a plan, compiled
        assert found.dtype == expected.dtype
        onp.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "args",
    [
        ("ij->j", FLAGS),
        ("ij->", SQUARE),
        ("ii->i", SQUARE),
        ("ii", SQUARE),
        ("ij,jk->ik", FLAGS, MORE),
        ("ij,i->", FLAGS, SQUARE[0]),
        ("ij,jk,ki->", FLAGS, MORE, SQUARE),
        ("ij,ji->ij", FLAGS, MORE),
        ("ij,jk->ik", MANY, MANY),
    ],
    ids=lambda args: args[0],
)
def test_of_booleans_products_are_and_sums_are_or(args):
    agrees(*args)


@pytest.mark.parametrize(
    "args",
    [
        ("ij,ij->i", NONE, NONE),
        ("ij,ij->j", NONE, NONE),
        ("ij,ij", NONE, NONE),
        ("ij->j", NONE),
        ("ij->i", NONE),
        ("ij,jk->ik", NONE, X),
        ("ji,jk->ik", NONE, NONE),
        ("ij,kl,lm->im", NONE, onp.ones((1, 3), "f"), Y),
        ("...j,...j->...", NONE, onp.ones((1, 2), "f")),
        ("ii->i", onp.zeros((0, 0), "f")),
    ],
    ids=lambda args: args[0],
)
def test_axes_may_be_empty(args):
    agrees(*args)


def test_derivatives_and_batches_of_empty_axes():
    f = lambda x, y: np.einsum("ij,ij->i", x, y)  # noqa: E731
    assert weft.grad(lambda x: f(x, NONE).sum())(NONE).shape == (0, 2)
    assert weft.vmap(f)(onp.ones((5, 0, 2), "f"), onp.ones((5, 0, 2), "f")).shape == (5, 0)
    assert weft.vmap(f)(onp.ones((0, 3, 2), "f"), onp.ones((0, 3, 2), "f")).shape == (0, 3)


@pytest.mark.parametrize(
    "args",
    [
        (X, [0, 51], Y, [51, 1], [0, 1]),
        (X, [26, 0]),
        (X, [3, 26], Y, [26, 2]),
        (onp.stack([X] * 2), [Ellipsis, 30, 2], Y, [2, 30]),
    ],
)
def test_numbers_are_labels_in_their_order(args):
    agrees(*args)


def test_there_are_labels_beyond_the_alphabet():
    assert np.array_equal(np.einsum(X, [0, 52], Y, [52, 900], [0, 900]), np.einsum("ij,jk", X, Y))
    many = np.ones((1,) * 60)
    assert np.einsum(many, range(60), [59, 0]).shape == (1, 1)


@pytest.mark.parametrize(
    ("args", "subscripts"),
    [
        ((X, ["row", "inner"], Y, ["inner", "column"], ["row", "column"]), "ij,jk->ik"),
        ((X, ["b", "a"]), "ba"),  # sorted, as letters are
        ((X, [(1, "x"), (0, "y")], [(0, "y")]), "ij->j"),
        ((onp.stack([X] * 2), [Ellipsis, "n", "m"], Y, ["m", "n"]), "...ij,ji"),
    ],
)
def test_labels_may_be_strings_and_other_values_that_can_be_sorted(args, subscripts):
    arrays = [a for a in args if isinstance(a, onp.ndarray)]
    onp.testing.assert_allclose(np.einsum(*args), onp.einsum(subscripts, *arrays), rtol=1e-6)


@pytest.mark.parametrize(
    ("args", "error", "says"),
    [
        ((X, 0, Y, [0, 1]), TypeError, "list of numbers for the axes of operand 0"),
        ((X, ["i", 1]), TypeError, "of one type that can be sorted"),
        ((X, [["i"], ["j"]]), TypeError, "must be hashable"),
    ],
)
def test_labels_of_other_kinds_are_refused(args, error, says):
    with pytest.raises(error, match=says):
        np.einsum(*args)


@pytest.mark.parametrize(
    ("path", "error", "says"),
    [
        ([(0, 5)], ValueError, r"step \(0, 5\).*2 operands that are left"),
        ([(0, 0)], ValueError, r"step \(0, 0\)"),
        ([(0, 1), (0, 1)], ValueError, "1 operands that are left"),
        ([(0,)], ValueError, "leaves 2 operands"),
        ([], ValueError, "leaves 2 operands"),
        ([3], TypeError, "list of tuples of ints"),
        ([("a", 0)], TypeError, "must be an int"),
    ],
)
def test_a_bad_path_is_refused(path, error, says):
    with pytest.raises(error, match=says):
        np.einsum("ij,jk", X, Y, optimize=path)


def test_a_good_path_is_followed():
    agrees("ij,jk,kl", X, Y, X, optimize=["einsum_path", (1, 2), (0, 1)])


def test_products_by_a_function_of_ones_own():
    seen = []

    def product(x, y, dims, precision=None, preferred_element_type=None):
        seen.append((dims, precision, preferred_element_type))
        return lax.dot_general(x, y, dims, precision, preferred_element_type)

    found = np.einsum(
        "ij,jk", X, Y, precision="highest", preferred_element_type=np.float32, _dot_general=product
    )
    onp.testing.assert_allclose(found, X @ Y, rtol=1e-6)
    assert seen == [((((1,), (0,)), ((), ())), "highest", np.dtype("float32"))]
    assert np.array_equal(np.einsum("ij,jk", X, Y, _dot_general=lax.dot_general), found)


def test_preferred_element_type_of_booleans_counts():
    found = np.einsum("ij,j->i", MANY, MANY[0], preferred_element_type=np.int32)
    assert found.dtype == np.int32
    assert (found == 300).all()
