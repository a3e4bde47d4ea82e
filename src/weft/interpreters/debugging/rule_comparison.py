"""Comparison compares a derivative rule with finite differences at a point, and names a mistake."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ...core.array import as_value
from ...core.value import Value
from ..jvp import jvp
from ..linearize import linearize
from .differences import (
    STEPS,
    Host,
    Quotient,
    directions,
    largest_size,
    normal,
    numbers,
    quotients,
    scale_of,
)

MAX_SEPARATE = 8
"""Up to this number of arguments, the derivative in each argument is compared separately."""

MAX_ELEMENTS = 64
"""The number of elements of an argument that are searched for the largest mistake."""

MAX_DIRECTIONS = 6
"""The number of pairs of directions in which differences must agree with each other before a
mistake is reported."""

OTHER_STEPS = (0.61, 0.37)
"""Ratios of the steps with which differences are repeated before a mistake is reported."""

TOLERANCES = {8: (1e-2, 1e-3, 1e-9), 4: (1e-2, 1e-3, 1e-4), 2: (1e-1, 1e-1, 1e-2)}
"""Tolerances by the bytes of a real number: relative to the element, to the largest element of the
derivative, and to the largest element of the function's output. Rules may round to bfloat16
inside."""

NONLINEAR = 2e-2
"""The relative deviation above which a rule is not linear."""


class Rule(NamedTuple):
    """A derivative rule of a function of leaves.

    Attributes:
      subject: the rule and its function, for messages.
      plain, ruled: the function without the rule, and with it: (leaves) -> outputs.
      argument: returns the name of a leaf.
      remedy: the setting that turns off the comparison.
      forward: True if the rule maps tangents, False if it maps cotangents.
    """

    subject: str
    plain: Callable[..., Sequence[Value]]
    ruled: Callable[..., Sequence[Value]]
    argument: Callable[[int], str]
    remedy: str
    forward: bool


class Fault(NamedTuple):
    """A mistake of a rule.

    Attributes:
      number: the number of the argument.
      text: the values that differ.
      hint: the probable cause; empty if it is unknown.
    """

    number: int
    text: str
    hint: str = ""


class Comparison:
    """Compares a rule with finite differences at a point.

    Args:
      x64: whether floats become float64.
      random: whether the arguments are random, so that the rule may give a NaN.
      careful: whether to take only small steps.
    Attributes:
      complete: True if differences determine the derivative in every argument.
    """

    def __init__(
        self,
        rule: Rule,
        point: Sequence[Any],
        mask: Sequence[bool],
        x64: bool,
        random: bool = False,
        careful: bool = False,
    ) -> None:
        self.rule, self.random, self.careful, self.complete = rule, random, careful, True
        self.outs: list[Host | None] = []
        self.args = [numbers(x) if x64 and moves(x) else x for x in point]
        self.moving = [
            i for i, (x, m) in enumerate(zip(self.args, mask, strict=True)) if m and moves(x)
        ]
        self.mask = [i in self.moving for i in range(len(self.args))]
        self.values = [as_value(x) for x in self.args]
        self.steps: Sequence[float] = STEPS[8]
        self.tolerances = TOLERANCES[8]

    def fault(self) -> Fault | None:
        """The first mistake, or `None`."""
        method = self.forward_fault if self.rule.forward else self.backward_fault
        outs = self.rule.plain(*self.values)
        self.outs = [numbers_or_none(o) for o in outs]
        floats = [
            *(o.dtype for o in outs if o.aval.inexact),
            *(self.args[i].dtype for i in self.moving),
        ]
        narrow = max(2, min((dtypes.real_of(d).itemsize for d in floats), default=8))
        self.steps = STEPS[narrow][: 2 if self.careful else None]
        self.tolerances = TOLERANCES[narrow]
        if not self.rule.forward:
            cts = [t if t is None else np.ones_like(t) for t in self.outs]
            self.moving = [i for i, g in self.pulled(cts).items() if g is not None]
        separate = len(self.moving) <= MAX_SEPARATE
        for group in [[i] for i in self.moving] if separate else [self.moving]:
            direction = directions(self.args, group, 1)
            quotient = quotients(self.plain, self.args, direction, self.steps)
            compared = [
                v is not None and not follows and self.shows_derivative(quotient, n)
                for n, (v, follows) in enumerate(
                    zip(quotient.values, quotient.follows, strict=True)
                )
            ]
            if not any(compared):
                self.complete = False
                continue
            for n, m in enumerate(compared):
                if m and not np.all(self.trusted(quotient, n)):
                    self.complete = False
            fault = method(group, direction, quotient, compared)
            if fault is not None:  # report a mistake only if differences are repeatable
                fault = method(group, direction, self.repeated(direction, quotient), compared)
            if fault is None:
                fault = self.linearity_fault(group, direction, compared)
            if fault is not None:
                kept = [
                    t if t is None else structured(x, t)
                    for x, t in zip(self.args, direction, strict=True)
                ]
                if any(s is not t for s, t in zip(kept, direction, strict=True)):
                    quotient = quotients(self.plain, self.args, kept, self.steps)
                    fault = method(group, kept, quotient, compared)
            if fault is not None:
                if self.is_differentiable(group, direction, quotient, compared):
                    return fault
                self.complete = False
        return None

    def repeated(self, direction: Sequence[Any], quotient: Quotient) -> Quotient:
        """The derivative with errors that include the deviations at other steps, because the
        estimated error of a function that rounds may be small by chance."""
        errors = list(quotient.errors)
        for ratio in OTHER_STEPS:
            steps = [ratio * step for step in self.steps]
            other = quotients(self.plain, self.args, direction, steps)
            for n, value in enumerate(quotient.values):
                if value is not None:
                    deviation = np.abs(other.values[n] - value)
                    errors[n] = np.maximum.reduce([errors[n], other.errors[n], deviation])
        return quotient._replace(errors=errors)

    def plain(self, args: Sequence[Any]) -> list[Host | None]:
        """The outputs of the function without its rule."""
        return [numbers_or_none(o) for o in self.rule.plain(*map(as_value, args))]

    def pushed(self, direction: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The outputs of the rule, and their tangents. `None` is a zero that the rule returned."""
        tangents = [
            None if t is None else as_value(t.astype(x.dtype))
            for x, t in zip(self.args, direction, strict=True)
        ]
        outs, t_outs = jvp(self.rule.ruled, self.values, tangents)
        return [numbers_or_none(o) for o in outs], [
            None if t is None else numbers(t) for t in t_outs
        ]

    def pulled(self, cts: Sequence[Any]) -> dict[int, Any]:
        """The cotangents of the arguments, by number."""
        outs, linear = linearize(self.rule.ruled, self.values, mask=self.mask)
        inner = [
            None if ct is None else as_value(ct.astype(o.dtype))
            for ct, o in zip(cts, outs, strict=True)
        ]
        results = [None if g is None else numbers(g) for g in linear.pull(inner)]
        return dict(zip([i for i, m in enumerate(self.mask) if m], results, strict=True))

    def differ(self, trusted: Any, actual: Any, expected: Any, limit: Any) -> Host:
        """The elements in which a rule deviates from finite differences."""
        comparable = np.isfinite(actual) if self.random else True
        return np.asarray(trusted & comparable & ~(np.abs(actual - expected) <= limit))

    def limit(self, quotient: Quotient, n: int) -> Host:
        """The largest deviation from the derivative of output `n` that is not a mistake."""
        relative, to_largest, of_outputs = self.tolerances
        size = np.abs(quotient.values[n])
        errors = np.where(np.isfinite(quotient.errors[n]), quotient.errors[n], 0.0)
        return np.asarray(
            relative * size
            + to_largest * largest_size(size)
            + of_outputs * largest_size(quotient.outs[n])
            + 10 * errors
        )

    def trusted(self, quotient: Quotient, n: int) -> Host:
        """The elements of output `n` whose derivative is known from differences."""
        value, outs, errors = quotient.values[n], quotient.outs[n], quotient.errors[n]
        limit = 0.1 * (np.abs(value) + 0.1 * largest_size(value)) + self.tolerances[2] * np.abs(
            outs
        )
        return np.asarray(np.isfinite(value) & np.isfinite(errors) & (errors <= limit))

    def is_differentiable(
        self,
        group: Sequence[int],
        direction: Sequence[Any],
        quotient: Quotient,
        compared: Sequence[bool],
    ) -> bool:
        """True if the derivatives in two directions add up to the derivative in their sum.

        At some points they do not, although differences in one direction show no kink: for example
        where sorted elements are equal.
        """
        used = [n for n, m in enumerate(compared) if m]
        for seed in range(5, 5 + MAX_DIRECTIONS):
            other = directions(self.args, group, seed)
            both = [None if s is None else s + t for s, t in zip(direction, other, strict=True)]
            others = [quotients(self.plain, self.args, t, self.steps) for t in (other, both)]
            every = (quotient, *others)
            for n in used:
                known = np.all([self.trusted(q, n) for q in every], axis=0)
                excess = np.abs(others[1].values[n] - others[0].values[n] - quotient.values[n])
                limit = np.sum([0.1 * self.limit(q, n) + 10 * q.errors[n] for q in every], axis=0)
                if np.any(known & (excess > limit)):
                    return False
        return True

    def shows_derivative(self, quotient: Quotient, n: int) -> bool:
        """True if differences give a derivative of output `n`. For a function that is constant
        between jumps they do not, and its rule is a surrogate."""
        count = np.sum(self.trusted(quotient, n) & (quotient.values[n] != 0))
        return bool(count > np.sum(quotient.stairs[n]))

    # --- rules of tangents ---

    def forward_fault(
        self,
        group: Sequence[int],
        direction: Sequence[Any],
        quotient: Quotient,
        compared: Sequence[bool],
    ) -> Fault | None:
        """The first output or tangent of the rule that differs from the function's."""
        outs, tangents = self.pushed(direction)
        fault = self.output_fault(group, outs, quotient)
        if fault is not None:
            return fault
        for n, is_compared in enumerate(compared):
            if not is_compared or tangents[n] is None:
                continue
            expected, actual = quotient.values[n], tangents[n]
            trusted = self.trusted(quotient, n)
            bad = self.differ(trusted, actual, expected, self.limit(quotient, n))
            if bad.any():
                cause = hint(expected, actual, trusted, bad, self.args[group[0]])
                place = worst(bad, actual - expected)
                fault = self.entry_fault(group, n, place)
                if fault is None:
                    what = f"output{index_text(place)} in a random direction"
                    fault = different(group[0], what, expected[place], actual[place])
                return fault._replace(hint=cause)
        return None

    def entry_fault(self, group: Sequence[int], n: int, likely: tuple[int, ...]) -> Fault | None:
        """A wrong derivative of an element of output `n` with respect to an element of an argument.

        Args:
          likely: the element that is tried first.
        """
        for number in group:
            x = self.args[number]
            first = [likely] if x.shape == self.outs[n].shape else []  # type: ignore[union-attr]
            for place in [*first, *sample_places(x.shape)]:
                direction: list[Any] = [None] * len(self.args)
                direction[number] = np.zeros_like(numbers(x))
                direction[number][place] = scale = scale_of(x)[place]
                quotient = quotients(self.plain, self.args, direction, self.steps)
                actual, expected = self.pushed(direction)[1][n], quotient.values[n]
                if actual is None:
                    continue
                limit = self.limit(quotient, n)
                bad = self.differ(self.trusted(quotient, n), actual, expected, limit)
                if bad.any():
                    i = worst(bad, actual - expected)
                    what = f"d output{index_text(i)} / d {self.entry(number, place)}"
                    return different(number, what, expected[i] / scale, actual[i] / scale)
        return None

    def entry(self, number: int, place: tuple[int, ...]) -> str:
        """An element of an argument, and its value."""
        name = self.rule.argument(number) + index_text(place)
        return f"{name}, at {name} = {number_text(self.args[number][place])}"

    def output_fault(
        self, group: Sequence[int], outs: Sequence[Any], quotient: Quotient
    ) -> Fault | None:
        """An output of the rule that differs from the function's."""
        for actual, expected in zip(outs, quotient.outs, strict=True):
            if expected is None or not np.all(np.isfinite(expected)):
                continue
            limit = 10 * self.tolerances[1] * (largest_size(expected) + 1e-6)
            bad = self.differ(True, actual, expected, limit)
            if bad.any():
                place = worst(bad, actual - expected)
                text = (
                    f"it returns the output {number_text(actual[place])}, where the function "
                    f"returns {number_text(expected[place])}"
                )
                return Fault(group[0], text)
        return None

    # --- rules of cotangents ---

    def backward_fault(
        self,
        group: Sequence[int],
        direction: Sequence[Any],
        quotient: Quotient,
        compared: Sequence[bool],
    ) -> Fault | None:
        """A cotangent that differs from the derivative."""
        outs = [numbers_or_none(o) for o in linearize(self.rule.ruled, self.values)[0]]
        fault = self.output_fault(group, outs, quotient)
        if fault is not None:
            return fault
        for seed in range(2):
            cts = [
                random_ct(v, 2 * n + seed) * self.trusted(quotient, n) if m else zeros_or_none(v)
                for n, (v, m) in enumerate(zip(quotient.values, compared, strict=True))
            ]
            pulled = self.pulled(cts)
            used = [n for n, m in enumerate(compared) if m]
            chosen = [np.where(cts[n] == 0, 0, quotient.values[n]) for n in used]
            expected = paired([cts[n] for n in used], chosen)
            actual = paired([pulled[i] for i in group], [direction[i] for i in group])
            limits = [np.where(cts[n] == 0, 0, self.limit(quotient, n)) for n in used]
            is_comparable = np.isfinite(actual) or not self.random
            if is_comparable and not agree(expected, actual, norm([cts[n] for n in used], limits)):
                return self.element_fault(group, cts, pulled) or different(
                    group[0], "<ct, J v> for random ct and v", expected, actual
                )
        return None

    def element_fault(
        self, group: Sequence[int], cts: Sequence[Any], pulled: dict[int, Any]
    ) -> Fault | None:
        """The largest mistake among a sample of the elements of the arguments."""
        for number in group:
            x = self.args[number]
            scales, actual = scale_of(x), pulled[number]
            expected, errors = np.zeros(actual.shape, actual.dtype), np.full(x.shape, np.inf)
            parts = (1, -1j) if dtypes.is_complex(x.dtype) else (1,)
            for place in sample_places(x.shape):
                total, error = 0.0 * actual.dtype.type(0), 0.0
                for part in parts:  # Re(ct dx) is Re(ct) for dx = 1, and Im(ct) for dx = -i
                    direction: list[Any] = [None] * len(self.args)
                    direction[number] = np.zeros(x.shape, actual.dtype)
                    direction[number][place] = scales[place] * part
                    q = quotients(self.plain, self.args, direction, self.steps)
                    used = [n for n, ct in enumerate(cts) if ct is not None]
                    slope = paired([cts[n] for n in used], [q.values[n] for n in used])
                    total = total + slope / scales[place] * (1 if part == 1 else 1j)
                    error += norm([cts[n] for n in used], [q.errors[n] for n in used])
                expected[place], errors[place] = total, error / scales[place]
            trusted = errors <= 0.1 * np.abs(expected) + 1e-2 * largest_size(expected)
            relative, to_largest, _ = self.tolerances
            limit = relative * np.abs(expected) + to_largest * largest_size(expected)
            bad = trusted & ~(
                np.abs(actual - expected) <= limit + 10 * np.where(trusted, errors, 0)
            )
            if bad.any():
                place = worst(bad, actual - expected)
                cause = hint(expected, actual, trusted, bad, x)
                what = f"the cotangent of {self.entry(number, place)}"
                return different(number, what, expected[place], actual[place])._replace(hint=cause)
        return None

    # --- both ---

    def linearity_fault(
        self, group: Sequence[int], direction: Sequence[Any], compared: Sequence[bool]
    ) -> Fault | None:
        """A rule that is not linear: f(a + b) differs from f(a) + f(b), or f(-2a) from -2 f(a)."""
        if self.rule.forward:
            word = "tangents"
            a, b = direction, directions(self.args, group, 2)

            def apply(t: Sequence[Any]) -> list[Any]:
                pairs = zip(self.pushed(t)[1], compared, strict=True)
                return [x for x, m in pairs if m and x is not None]
        else:
            word = "cotangents"
            a, b = ([random_ct(o, 10 * k + n) for n, o in enumerate(self.outs)] for k in (3, 4))
            a, b = (
                [ct if m or ct is None else 0 * ct for ct, m in zip(c, compared, strict=True)]
                for c in (a, b)
            )

            def apply(t: Sequence[Any]) -> list[Any]:
                pulled = self.pulled(t)
                return [pulled[i] for i in group]

        rounding = self.tolerances[2] * max(largest_size(o) for o in self.outs if o is not None)
        of_a, of_b = apply(a), apply(b)
        of_sum = apply([None if s is None else s + t for s, t in zip(a, b, strict=True)])
        of_multiple = apply([None if s is None else -2 * s for s in a])
        for x, y, together, multiple in zip(of_a, of_b, of_sum, of_multiple, strict=True):
            if not np.all(np.isfinite([x, y])):
                continue
            size = NONLINEAR * (largest_size(x) + largest_size(y)) + rounding
            if not np.all(np.abs(together - x - y) <= size):
                return Fault(group[0], f"it is not linear: f(a + b) is not f(a) + f(b) for {word}")
            if not np.all(np.abs(multiple + 2 * x) <= 2 * size):
                return Fault(group[0], f"it is not linear: f(-2 a) is not -2 f(a) for {word}")
        return None


# --- hints ---


def hint(expected: Host, actual: Host, known: Host, bad: Host, x: Host) -> str:
    """A sentence about the probable mistake; empty if none is recognised.

    Args:
      expected: the derivative from differences, where it is `known`.
      actual: the rule's derivative.
      bad: the elements that differ.
      x: the argument.
    """
    e, a = expected[known], actual[known]
    if not np.all(np.isfinite(a)):
        return "the rule gives a number that is not finite"
    if not np.any(a):
        return "the rule gives zero: it ignores this argument"
    if _equal(a, -e):
        return "the sign is wrong"
    if np.iscomplexobj(e) and _equal(a, np.conj(e)):
        return "it is the complex conjugate"
    square = expected.ndim >= 2 and expected.shape[-1] == expected.shape[-2]
    if square and np.all(known) and _equal(actual, np.swapaxes(expected, -1, -2)):
        return "it is transposed"
    ratio = np.vdot(e, a) / np.vdot(e, e) if np.any(e) else 0.0
    if ratio and e.size > 1 and _equal(a, ratio * e):
        factor = ratio if np.iscomplexobj(ratio) and abs(ratio.imag) > 1e-6 else ratio.real
        return f"it is {factor:.4g} times the derivative"
    if x.shape == bad.shape and not np.iscomplexobj(x) and not np.all(bad[known]):
        for words, side in (("negative", x < 0), ("positive", x > 0)):
            if np.array_equal(bad[known], side[known]):
                return f"it is wrong where the argument is {words}"
    return ""


def _equal(a: Host, b: Host) -> bool:
    size = np.max(np.abs(b), initial=0.0)
    return bool(np.all(np.abs(a - b) <= NONLINEAR * (np.abs(b) + 0.1 * size)))


# --- numbers ---


def numbers_or_none(x: Value) -> Host | None:
    """The elements of an output; `None` if it has no derivative."""
    return numbers(x) if x.aval.inexact else None


def zeros_or_none(x: Host | None) -> Host | None:
    """Zeros in the shape of an output; `None` if it has no derivative."""
    return None if x is None else np.zeros_like(x)


def random_ct(x: Any, seed: int) -> Any:
    """A random cotangent of an output; `None` if it has no derivative."""
    if x is None or x.dtype == dtypes.float0:
        return None
    return normal(np.random.default_rng(100 + seed), x.shape, dtypes.is_complex(x.dtype))


def paired(cts: Sequence[Any], tangents: Sequence[Any]) -> float:
    """The real part of the sum of products."""
    pairs = zip(cts, tangents, strict=True)
    return float(sum(np.sum(ct * t).real for ct, t in pairs if ct is not None and t is not None))


def norm(cts: Sequence[Any], tangents: Sequence[Any]) -> float:
    """The typical size of a sum of products with random signs."""
    pairs = zip(cts, tangents, strict=True)
    squares = (np.sum(np.abs(ct * t) ** 2) for ct, t in pairs if ct is not None and t is not None)
    return float(np.sqrt(sum(squares)))


def agree(a: float, b: float, limit: float) -> bool:
    """True if two numbers are equal up to a limit; False for a NaN."""
    return abs(a - b) <= limit + 1e-12 * (abs(a) + abs(b))


def different(number: int, what: str, expected: Any, actual: Any) -> Fault:
    """The fault of a rule whose value differs from finite differences."""
    return Fault(
        number, f"{what}: differences give {number_text(expected)}, the rule {number_text(actual)}"
    )


def sample_places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The indices of all elements of an array, or of some of a large one."""
    size = int(np.prod(shape, dtype=np.int64))
    step = max(1, -(-size // MAX_ELEMENTS))
    return [tuple(map(int, np.unravel_index(i, shape))) for i in range(0, size, step)]


def worst(bad: Host, difference: Host) -> tuple[int, ...]:
    """The index of the largest difference."""
    size = np.where(np.isfinite(difference), np.abs(difference), np.inf)
    return tuple(int(i) for i in np.unravel_index(np.argmax(np.where(bad, size, -1.0)), bad.shape))


def index_text(place: tuple[int, ...]) -> str:
    """`[1, 2]`; empty for a number."""
    return f"[{', '.join(map(str, place))}]" if place else ""


def number_text(x: Any) -> str:
    """A number with four digits."""
    return f"{x.item() if hasattr(x, 'item') else x:.4g}"


def structured(x: Host, direction: Host) -> Host:
    """The part of a direction that keeps symmetric matrices symmetric, and triangular matrices
    triangular. Functions of such matrices may read only one half."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or np.ptp(np.abs(x)) == 0:
        return direction
    lower, upper = np.tril(x, -1).any(), np.triu(x, 1).any()
    if lower and upper and np.array_equal(x, np.conj(np.swapaxes(x, -1, -2))):
        return np.asarray(direction + np.conj(np.swapaxes(direction, -1, -2))) / 2
    if lower != upper:
        return np.tril(direction) if lower else np.triu(direction)
    return direction


def moves(x: Any) -> bool:
    """True for an array with a derivative."""
    return isinstance(x, np.ndarray) and dtypes.is_inexact(x.dtype)
