"""numpy_rank_promotion: every implicit promotion of ranks is allowed, warned of, or refused."""

import functools
import warnings

import pytest

import weft
import weft.numpy as np
from weft import lax

BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "floor_divide",
    "mod",
    "remainder",
    "fmod",
    "power",
    "float_power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "nextafter",
    "heaviside",
    "equal",
    "less",
    "greater",
    "not_equal",
    "less_equal",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "isclose",
    "allclose",
    "divmod",
    "vecdot",
    "linspace",
    "logspace",
    "geomspace",
]
WHOLE = ["gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]

MATRIX, ROW = np.ones((2, 3)), np.ones(3)
CALLS = {
    **{name: (getattr(np, name), (MATRIX, ROW)) for name in BINARY},
    **{name: (getattr(np, name), (MATRIX.astype(int), ROW.astype(int))) for name in WHOLE},
    "ldexp": (np.ldexp, (MATRIX, ROW.astype(int))),
    "where": (np.where, (MATRIX > 0, ROW, ROW)),
    "clip": (np.clip, (MATRIX, ROW, ROW)),
    "+": (lambda x, y: x + y, (ROW, MATRIX)),
    "**": (lambda x, y: x**y, (MATRIX, ROW)),
    "<": (lambda x, y: x < y, (MATRIX, ROW)),
    "&": (lambda x, y: x & y, (MATRIX > 0, ROW > 0)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("jit", [False, True])
def test_raise(name, jit):
    function, args = CALLS[name]
    if name in ("linspace", "logspace", "geomspace") and jit:
        function = lambda x, y, f=function: f(x, y, 5)  # noqa: E731
    function = weft.jit(function) if jit else function
    with weft.numpy_rank_promotion("raise"):
        for _ in range(2):
            with pytest.raises(ValueError, match="numpy_rank_promotion is 'raise'") as caught:
                function(*args)
    text = str(caught.value)
    assert "[2,3]" in text
    assert "[3]" in text
    assert any(note.startswith("  at test_rank_promotion.py") for note in caught.value.__notes__)
    function(*args)


def test_each_call_is_warned_of_at_the_users_line():
    with (
        weft.numpy_rank_promotion("warn"),
        warnings.catch_warnings(record=True) as found,
    ):
        warnings.simplefilter("always")
        for _ in range(3):
            MATRIX + ROW
        np.hypot(MATRIX, ROW)
        MATRIX + MATRIX, MATRIX + 1.0, np.float32(2) * MATRIX, MATRIX + ROW[None]
    assert len(found) == 4
    assert {w.filename for w in found} == {__file__}
    assert "add: operands of different ranks: float32[2,3], float32[3]" in str(found[0].message)


def test_scalars_and_what_says_its_ranks_are_free():
    with weft.numpy_rank_promotion("raise"):
        assert (MATRIX + 1.0).shape == (MATRIX * np.float32(2)).shape == (2, 3)
        assert (MATRIX + np.ones(())).shape == (2, 3)
        assert np.matmul(MATRIX, ROW).shape == np.dot(MATRIX, ROW).shape == (2,)
        assert np.broadcast_to(ROW, (2, 3)).shape == (2, 3)
        assert np.outer(ROW, MATRIX).shape == (3, 6)
        assert np.var(MATRIX, axis=0).shape == np.cumsum(MATRIX, axis=0)[0].shape == (3,)


def test_lax_promotes_no_ranks_at_all():
    for f in (lax.add, lax.mul, lax.max, lax.atan2, lax.eq):
        with pytest.raises(TypeError, match="one shape"):
            f(MATRIX, ROW)


# --- what weft itself combines ---

KEY = weft.random.PRNGKey(0)
SQUARE = np.ones((3, 3)) + np.arange(9.0).reshape(3, 3)
LINE = np.arange(1.0, 4.0)
# fmt: off
REDUCTIONS = (
    np.sum, np.mean, np.std, np.var, np.ptp, np.max, np.min, np.prod, np.cumsum, np.cumprod,
    np.median, np.nanmean, np.nanvar, np.nansum, np.nanmax, np.sort, np.diff, np.gradient,
    np.trapezoid, np.average, np.nancumsum, np.flip, np.unwrap, np.count_nonzero, np.argmax,
)
# fmt: on
EQUAL_RANKS = {
    **{
        name: (getattr(np, name), (SQUARE, SQUARE + 1))
        for name in BINARY
        if name not in ("linspace", "logspace", "geomspace", "divmod", "nextafter")
    },
    **{
        f.__name__: (functools.partial(lambda f, x: f(x, 2 * x, 3, axis=-1), f), (LINE,))
        for f in (np.linspace, np.logspace, np.geomspace)
    },
    **{f.__name__: (functools.partial(f, axis=0), (SQUARE,)) for f in REDUCTIONS},
    "quantile": (lambda x: np.quantile(x, LINE / 4, axis=0), (SQUARE,)),
    "cov": (lambda x: np.cov(x, fweights=np.array([1, 2, 3]), aweights=LINE), (SQUARE,)),
    "corrcoef": (np.corrcoef, (SQUARE,)),
    "pad": (lambda x: np.pad(x, 1, mode="linear_ramp"), (SQUARE,)),
    "interp": (lambda x: np.interp(x, LINE, LINE), (LINE,)),
    "polyval": (lambda x: np.polyval(LINE, x), (SQUARE,)),
    "polydiv": (lambda x: np.polydiv(x, LINE[:2]), (LINE,)),
    "convolve": (np.convolve, (LINE, LINE)),
    "histogram": (lambda x: np.histogram(x, 3), (SQUARE,)),
    "cross": (np.cross, (SQUARE, SQUARE + 1)),
    "where": (lambda x: np.where(x > 1, x, 0.0), (SQUARE,)),
    "einsum": (lambda x, y: np.einsum("ij,kj->i", x, y), (SQUARE, SQUARE)),
    "take": (lambda x: np.take(x, np.array([0, 2]), axis=1), (SQUARE,)),
    "delete": (lambda x, i: np.delete(x, i, axis=1), (SQUARE, np.array(1))),
    "insert": (lambda x, i: np.insert(x, i, 7.0, axis=1), (SQUARE, np.array(1))),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), (SQUARE,)),
    "i0": (np.i0, (SQUARE,)),
    "sinc": (np.sinc, (SQUARE,)),
    "nan_to_num": (np.nan_to_num, (SQUARE,)),
    "categorical": (lambda x: weft.random.categorical(KEY, x, shape=(3,)), (LINE,)),
    "normal": (lambda x: x * weft.random.normal(KEY, (3,)), (LINE,)),
    "reduce_window": (
        lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "VALID"),
        (SQUARE,),
    ),
    "scatter": (lambda x: x.at[1].add(x[0]), (SQUARE,)),
    "sort_key_val": (lambda x: lax.sort_key_val(x, x), (SQUARE,)),
    "scan": (lambda x: lax.scan(lambda c, y: (c + y, c * y), LINE, x), (SQUARE,)),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda: x * x, lambda: -x), (LINE,)),
    "logsumexp": (lambda x: np.log(np.sum(np.exp(x), axis=0, keepdims=True)) - x, (SQUARE,)),
    "psum": (
        lambda x: weft.vmap(lambda row: row - lax.psum(row, "i"), axis_name="i")(x),
        (SQUARE,),
    ),
}


def total(function, args):
    def loss(*xs):
        leaves = weft.tree_util.tree_leaves(function(*xs))
        return sum(np.sum(leaf) for leaf in leaves if np.issubdtype(leaf.dtype, np.floating))

    return loss


@pytest.mark.parametrize("name", EQUAL_RANKS)
def test_functions_and_rules_may_promote_what_no_user_wrote(name):
    function, args = EQUAL_RANKS[name]
    float_args = [i for i, x in enumerate(args) if np.issubdtype(x.dtype, np.floating)]
    loss = total(function, args)
    differentiable = np.issubdtype(np.asarray(loss(*args)).dtype, np.floating)
    with weft.numpy_rank_promotion("raise"):
        function(*args)
        weft.make_jaxpr(function)(*args)
        weft.make_jaxpr(weft.vmap(function))(*[np.stack([x, x]) for x in args])
        if differentiable:
            batched = [np.stack([x, x]) for x in args]
            weft.make_jaxpr(weft.vmap(weft.grad(loss, float_args[0])))(*batched)
            if len(float_args) == len(args):
                weft.jvp(function, args, args)


@pytest.mark.parametrize(
    "apply",
    [
        lambda f: f(MATRIX, ROW),
        lambda f: weft.jit(f)(MATRIX, ROW),
        lambda f: weft.vmap(f, in_axes=(None, 0))(MATRIX, MATRIX),
        lambda f: weft.grad(lambda x: f(x, ROW).sum())(MATRIX),
        lambda f: lax.scan(lambda c, _: (f(c, ROW), None), MATRIX, None, length=2),
    ],
    ids=["eager", "jit", "vmap", "grad", "scan"],
)
def test_operands_that_a_transformation_passes_on_are_the_users(apply):
    for f in (np.add, np.power, lambda x, y: x * y):
        apply(f)
        with (
            weft.numpy_rank_promotion("raise"),
            pytest.raises(ValueError, match="different ranks"),
        ):
            apply(f)
