"""A case: a primitive or function, arguments and parameters. Every law of `tests/laws` runs on it.

    CASES = [
        Case(lax.dynamic_slice, [f32(5, 6), i32(1), i32(9)], {"slice_sizes": (2, 3)}),
        Case(arithmetic.mul, [f32(3, 4), f32(4)], oracle=np.multiply, dtypes=NUMBERS),
        Case(linalg.cholesky, [positive_definite(3)], rtol={"float32": 1e-5}),
    ]

Arguments are NumPy arrays, or wishes (`f32(3, 4)`) that the case fills with random elements; they
depend on the case's name and the argument's place only, so new cases don't change old ones.
"""

import dataclasses
import itertools
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

LAWS = (
    "evaluate",  # the NumPy tier agrees with the oracle
    "lower",  # the compiled program agrees with the NumPy tier
    "jvp",  # forward derivatives agree with finite differences
    "transpose",  # reverse derivatives are the adjoint of forward ones
    "second_order",  # derivatives of gradients agree with finite differences of gradients
    "compiled_derivative",  # compiled derivatives agree with eager ones
    "batched_derivative",  # a batch of derivatives agrees with a Python loop
    "batch",  # a batch agrees with a Python loop
    "edges",  # both tiers agree on special values of every dtype (elementwise cases)
)

INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
SIGNED = ("int8", "int16", "int32")
FLOATS = ("float16", "bfloat16", "float32")
COMPLEX = ("complex64",)
INEXACT = (*FLOATS, *COMPLEX)
REAL = (*INTEGERS, *FLOATS)
NUMBERS = (*INTEGERS, *INEXACT)
ALL = ("bool", *NUMBERS)
SMALLEST = ("int2", "uint2", "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu")
"""Those that have a table of their own: tests/numpy/test_small_dtypes.py."""


@dataclasses.dataclass(frozen=True)
class Wish:
    """An argument to be filled with random elements.

    Floats are standard normal, or uniform between `low` and `high` if those are given; integers
    are uniform in [low, high).
    """

    shape: tuple[int, ...]
    dtype: Any
    low: float | None = None
    high: float | None = None

    def fill(self, seed: int, dtype: Any = None) -> np.ndarray:
        """The array, in this or another dtype."""
        dtype = np.dtype(dtype or self.dtype)
        rng = np.random.default_rng(seed)
        kind = kind_of(dtype)
        if kind == "b":
            return rng.integers(0, 2, self.shape).astype(bool)
        if kind in "iu":
            low = (0 if kind == "u" else -8) if self.low is None else int(np.ceil(self.low))
            high = 8 if self.high is None else max(int(self.high), low + 1)
            low = max(low, 0) if kind == "u" else low
            return rng.integers(low, max(high, low + 1), self.shape).astype(dtype)

        def draw() -> np.ndarray:
            if self.low is None:
                return np.asarray(rng.standard_normal(self.shape))
            return np.asarray(rng.uniform(self.low, self.high, self.shape))

        if kind == "c":
            return (draw() + 1j * rng.standard_normal(self.shape)).astype(dtype)
        return draw().astype(dtype)


def kind_of(dtype: Any) -> str:
    """`b`, `i`, `u`, `f` or `c`, also for the dtypes of ml_dtypes."""
    name = np.dtype(dtype).name
    for start, kind in (("bool", "b"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        if name.startswith(start):
            return kind
    return "f"


def maker(dtype: Any) -> Callable[..., Wish]:
    """`f32(3, 4)`, `f32(3, low=0.5, high=2)`."""

    def make(*shape: int, low: float | None = None, high: float | None = None) -> Wish:
        if (low is None) != (high is None) and kind_of(dtype) == "f":
            raise ValueError("give both low and high")
        return Wish(shape, np.dtype(dtype), low, high)

    return make


f16, f32, f64 = maker(np.float16), maker(np.float32), maker(np.float64)
bf16 = maker(ml_dtypes.bfloat16)
i8, i16, i32, i64 = maker(np.int8), maker(np.int16), maker(np.int32), maker(np.int64)
u8, u16, u32, u64 = maker(np.uint8), maker(np.uint16), maker(np.uint32), maker(np.uint64)
c64, boolean = maker(np.complex64), maker(np.bool_)


def positive_definite(n: int, *batch: int, seed: int = 0) -> np.ndarray:
    """A symmetric float32 matrix with eigenvalues from about 1 to a few."""
    a = np.random.default_rng(seed).standard_normal((*batch, n, n))
    return (a @ np.swapaxes(a, -1, -2) / n + np.eye(n)).astype(np.float32)


@dataclasses.dataclass(eq=False)
class Case:
    """One row of the tests.

    Args:
      function: a primitive, or a function of values (that gives a value, or a tuple or list).
      args: NumPy arrays, NumPy scalars and wishes.
      params: keyword arguments.
      name: what the test is called; made from the function, args and params if left out.
      oracle: an independent function of NumPy arrays, called as (*args, **params): floats come as
        float64, complex numbers as complex128, others as they are; the result is compared in the
        output's dtype. `None` checks shape and dtype only.
      oracle_params: whether the oracle takes the params.
      dtypes: further dtypes to try: each replaces that of all wishes of the first wish's dtype.
      rtol, atol: against the oracle: a number for all dtypes, or one for each dtype's name.
      ulp: how many units in the last place the two tiers may differ.
      lower_atol: an absolute difference that the two tiers may have (for sums that cancel).
      differentiable: the places of the arguments to differentiate; all inexact ones if left out,
        `()` for none.
      step: of finite differences.
      elementwise: put to the law of edge values too.
      edges_without: dtype name (of the first argument), "subnormal" or "signed zero" -> reason to
        leave it out.
      edge_ulp: as ulp, on edge values.
      edges_within: leaves out finite special values larger than this, or closer to 0 than its
        reciprocal.
      without: law -> reason why it doesn't hold.
      vary: (argument's array, its place, k) -> the k-th of a batch of such arguments. By default
        the same one, its elements reversed, and the same one.
    """

    function: Callable[..., Any]
    args: Sequence[Any]
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    name: str = ""
    oracle: Callable[..., Any] | None = None
    oracle_params: bool = True
    dtypes: Sequence[str] = ()
    rtol: float | Mapping[str, float] | None = None
    atol: float | Mapping[str, float] | None = None
    ulp: float = 8
    lower_atol: float = 0.0
    differentiable: Sequence[int] | None = None
    step: float = 1e-5
    elementwise: bool = False
    edges_without: Mapping[str, str] = dataclasses.field(default_factory=dict)
    edge_ulp: float | None = None
    edges_within: float | None = None
    without: Mapping[str, str] = dataclasses.field(default_factory=dict)
    vary: Callable[[np.ndarray, int, int], np.ndarray] | None = None
    family: str = ""  # filled in by tests/laws/collect.py

    def __post_init__(self) -> None:
        for law, reason in self.without.items():
            if law not in LAWS or not reason:
                raise ValueError(f"{law!r} is not a law, or has no reason; laws: {LAWS}")
        if not self.name:
            inside = ",".join(
                [*map(_label, self.args), *(f"{k}={v}" for k, v in self.params.items())]
            )
            self.name = f"{self.operation}({inside})"

    @property
    def operation(self) -> str:
        """The function's own name."""
        f = self.function
        return str(getattr(f, "name", None) or getattr(f, "__name__", None) or type(f).__name__)

    def arguments(self, dtype: Any = None) -> list[Any]:
        """The arguments as NumPy arrays; `dtype` replaces that of the wishes that share the
        first wish's."""
        wishes = [a for a in self.args if isinstance(a, Wish)]
        base = wishes[0].dtype if wishes else None
        filled = []
        for place, a in enumerate(self.args):
            if isinstance(a, Wish):
                seed = zlib.crc32(f"{self.name}/{place}".encode())
                filled.append(a.fill(seed, dtype if dtype and a.dtype == base else None))
            else:
                filled.append(a if isinstance(a, (np.ndarray, np.generic)) else np.asarray(a))
        return filled

    def variants(self) -> list[tuple[str, list[Any]]]:
        """(label, arguments) for its own dtype and for each of `dtypes`."""
        own = self.arguments()
        wishes = [a for a in self.args if isinstance(a, Wish)]
        first = wishes[0].dtype.name if wishes else ""
        return [(first, own)] + [(d, self.arguments(named(d))) for d in self.dtypes if d != first]

    def batch_of(self, x: np.ndarray, place: int, size: int = 3) -> np.ndarray:
        """A batch of arguments like `x`."""
        return np.stack([np.asarray((self.vary or vary)(x, place, k)) for k in range(size)])


def vary(x: np.ndarray, place: int, k: int) -> np.ndarray:
    """The k-th of a batch: `x`, or its elements in reverse."""
    if k % 2 == 0:
        return x
    if x.ndim == 0:
        kind = kind_of(x.dtype)
        if kind in "iu":
            return np.asarray(max(int(x) - 1, 0)).astype(x.dtype)
        return ~x if kind == "b" else np.asarray(x * x.dtype.type(0.75))
    return x.reshape(-1)[::-1].reshape(x.shape)


def named(dtype: str) -> np.dtype:
    """A dtype by its name, also those of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, dtype, None) or dtype)


def cases(
    functions: Sequence[Callable[..., Any]], *arguments: Sequence[Any], **options: Any
) -> list[Case]:
    """A case for each function and each list of arguments."""
    return [Case(f, args, **options) for f, args in itertools.product(functions, arguments)]


def _label(x: Any) -> str:
    dtype, shape = (x.dtype, x.shape) if hasattr(x, "dtype") else (np.asarray(x).dtype, np.shape(x))
    name = dtype.name.replace("float", "f").replace("uint", "u").replace("int", "i")
    return f"{name.replace('complex', 'c')}[{','.join(map(str, shape))}]"
