"""numpy_rank_promotion: every implicit promotion of ranks is allowed, warned of, or refused."""

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
