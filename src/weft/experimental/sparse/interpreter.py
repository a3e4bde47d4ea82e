"""SparseTracer: runs a function with sparse matrices in place of arrays, operation by operation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import lax
from ...core.array import Tracer, as_value
from ...core.aval import aval
from ...core.jaxpr import Jaxpr, run
from ...core.primitive import Primitive
from ...core.trace import Params, Trace, current, under
from ...core.value import Value
from ...errors import MissingRuleError
from ...higher_order.cond import cond
from ...higher_order.scan import ScanParams, scan
from ...higher_order.while_loop import WhileParams, while_loop
from ...interpreters.stage import leaked
from ...transforms.tracing import eval_shape
from .conversion import bcoo_todense, bcoo_update_layout, resized
from .coordinates import Coordinates
from .elementwise import refuse_dense
from .rules import rules

__all__ = ["SparseTracer"]

Matrix = Coordinates | Value


class SparseTracer(Tracer):
    """Stands for a sparse matrix, and behaves like an array of its shape.

    Example:
      >>> from weft.experimental import sparse
      >>> @sparse.sparsify
      ... def f(x):
      ...     print(type(x).__name__, x.shape)
      ...     return 2 * x
      >>> f(sparse.BCOO.fromdense(np.eye(3)))
      SparseTracer (3, 3)
      BCOO(float32[3, 3], nse=3)
    """

    __slots__ = ("matrix",)

    def __init__(self, trace: Trace, matrix: Coordinates) -> None:
        self._trace, self.matrix = trace, matrix
        self.aval = aval(matrix.shape, matrix.dtype)

    def conversion_error(self, operation: str, error: type[Exception]) -> Exception:
        return error(
            f"{operation}: {self.aval} is a sparse matrix in a sparsified function\n"
            "  fix: sparse.todense(x) makes an array of it"
        )

    def __repr__(self) -> str:
        return f"SparseTracer<{self.matrix!r}>"

    __str__ = __repr__


class SparseTrace(Trace):
    """Applies the rules of `rules.py` under the outer trace."""

    outside: Trace
    transform = "sparsify"
    __slots__ = ("closed", "function", "outside")

    def __init__(self, outside: Trace, function: Callable[..., Any] | None = None) -> None:
        self.outside, self.function, self.closed = outside, function, False

    def matrix(self, x: Any) -> Any:
        """The sparse matrix of a tracer; other values are unchanged."""
        return x.matrix if x.__class__ is SparseTracer and x._trace is self else x

    def standing_for(self, x: Any) -> Value:
        """A tracer for a sparse matrix; other values are unchanged."""
        if not isinstance(x, Coordinates):
            return x if isinstance(x, Value) else as_value(x)
        return SparseTracer(self, x) if x.shape else x.data.sum()

    def bind(
        self, primitive: Primitive, args: Sequence[Any], params: Params, out: Any = None
    ) -> Any:
        operands = [self.matrix(a) for a in args]
        if not any(is_matrix(x) for x in operands):
            return self.outside.bind(primitive, operands, params, out)
        if self.closed:
            raise leaked(self, primitive.name)
        if primitive.inside is not None and primitive.inside.inlinable:
            return run(dict(params)["jaxpr"], args, self)
        if (loop := loops.get(primitive)) is not None:
            results = under(self.outside, loop, operands, dict(params))
            return [self.standing_for(r) for r in results]
        rule = rules.get(primitive)
        if rule is None:
            if primitive.multiple or any(x for x in params if isinstance(x[1], Jaxpr)):
                raise MissingRuleError(
                    f"{primitive.name}: has no rule for sparse operands\n"
                    "  fix: sparse.todense(x) makes an array of one"
                )
            raise refuse_dense(primitive.name, *operands)
        result = under(self.outside, lambda: rule(*operands, **dict(params)))
        return self.standing_for(result)

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Any],
    ) -> Any:
        """Runs a function with its own derivative rule; sparse operands do not use the rule."""
        operands = [self.matrix(a) for a in args]
        if not any(is_matrix(x) for x in operands):
            return self.outside.bind_custom(primitive, function, rules, operands)
        return under(self, function, *args)


def sparse_values(
    function: Callable[..., Sequence[Any]], args: Sequence[Matrix], about: Any = None
) -> list[Matrix]:
    """The results of a function, applied to sparse matrices and values."""
    trace = SparseTrace(current.trace, about)
    try:
        results = under(trace, function, *[trace.standing_for(a) for a in args])
    finally:
        trace.closed = True
    return [trace.matrix(r) for r in results]


def program(jaxpr: Jaxpr, args: Sequence[Matrix]) -> list[Matrix]:
    """The results of a program."""
    return sparse_values(lambda *values: run(jaxpr, values, current.trace), args)


# --- control flow: loops can carry matrices, because these are pytrees ---


def sparse_scan(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """A scan with matrices among the constants, in the carry, or sliced by rows."""
    p = ScanParams(**params)
    consts, first, slices = p.groups(operands)
    rows = [bcoo_update_layout(x, n_batch=1, on_inefficient=None) if is_matrix(x) else x
            for x in slices]  # fmt: skip

    def body(carry: list[Any], xs: list[Any]) -> tuple[list[Any], list[Any]]:
        outs = program(p.jaxpr, [*consts, *carry, *xs])
        return like_carry("scan", first, outs[: p.num_carry]), outs[p.num_carry :]

    carry, stacks = lax.scan(body, [*map(plain, first)], rows, **p.loop)
    return [*carry, *stacks]


def sparse_while(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """A while loop with matrices among the constants and in the carry."""
    p = WhileParams(**params)
    cond_consts, body_consts, first = p.groups(operands)

    def condition(carry: list[Any]) -> Any:
        return program(p.cond_jaxpr, [*cond_consts, *carry])[0]

    def body(carry: list[Any]) -> list[Any]:
        return like_carry("while_loop", first, program(p.body_jaxpr, [*body_consts, *carry]))

    return lax.while_loop(condition, body, [*map(plain, first)])


def sparse_cond(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """A conditional. A result is dense unless it is sparse with the same layout in all branches."""
    index, *rest = operands
    branches = [partial(program, b) for b in params["branches"]]
    forms = zip(*[eval_shape(b, rest) for b in branches], strict=True)
    sizes = [common_size(form) for form in forms]

    def settled(branch: Callable[..., list[Any]], rest: list[Any]) -> list[Any]:
        return [
            x if not is_matrix(x) else bcoo_todense(x) if nse is None else with_size(x, nse)
            for x, nse in zip(branch(rest), sizes, strict=True)
        ]

    functions = [partial(settled, b) for b in branches]
    if "platforms" in params:
        names = [name or "default" for name in params["platforms"]]
        return lax.platform_dependent(rest, **dict(zip(names, functions, strict=True)))
    return lax.switch(index, functions, rest)


def is_matrix(x: Any) -> bool:
    """True for a sparse matrix."""
    return isinstance(x, Coordinates)


def common_size(forms: Sequence[Any]) -> int | None:
    """The largest number of elements that a result stores in any branch; None if some result is not
    sparse."""
    if len({(x.n_batch, x.n_dense) if is_matrix(x) else None for x in forms}) > 1:
        return None
    return max(x.nse for x in forms) if is_matrix(forms[0]) else None


def with_size(mat: Coordinates, nse: int) -> Coordinates:
    """The matrix padded to a number of elements; promises about their order are dropped."""
    data, indices = resized(mat.data, mat.indices, mat.sparse_shape, nse)
    return mat.like(data, indices, mat.inner)


def plain(x: Any) -> Any:
    """The matrix without promises about its order, because a step of a loop may not preserve
    them."""
    return with_size(x, x.nse) if is_matrix(x) else x


def like_carry(name: str, first: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """The carry after a step, with the layout and number of stored elements of the initial
    carry."""
    carry = []
    for x, y in zip(first, after, strict=True):
        if is_matrix(x) and is_matrix(y):
            y = bcoo_update_layout(y, n_batch=x.n_batch, n_dense=x.n_dense, on_inefficient=None)
        if is_matrix(x) != is_matrix(y) or (is_matrix(x) and y.nse > x.nse):
            raise TypeError(
                f"{name}: the carry of a sparsified loop is {x!r} at first, {y!r} after a step\n"
                "  fix: sparse.todense(x) before the loop, or a matrix with room for more elements"
            )
        carry.append(with_size(y, x.nse) if is_matrix(x) else y)
    return carry


loops: dict[Primitive, Callable[[Sequence[Any], dict[str, Any]], list[Any]]] = {
    cond: sparse_cond,
    scan: sparse_scan,
    while_loop: sparse_while,
}
