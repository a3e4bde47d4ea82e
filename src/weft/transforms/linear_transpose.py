"""linear_transpose: stages a linear function, and runs its program backwards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.array import as_value
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters.transpose import backward
from ..primitives.creation import instantiate, zeros
from ..primitives.structural import convert_element_type
from ..tree_util import Partial, PyTreeDef, tree_flatten
from ..typing import PyTree
from .arguments import FlatFunction, TreeFunction, check_callable
from .derivatives import AxisNames, Reduction, names_of, reduction
from .tangents import Tangent, is_float0, is_integer_like, tangent_value

__all__ = ["linear_transpose"]


@located
def linear_transpose(
    fun: TreeFunction, *primals: PyTree, reduce_axes: AxisNames = ()
) -> Callable[[PyTree], tuple[PyTree, ...]]:
    """The transpose of a linear function.

    Args:
      fun: a function that is linear in all its arguments.
      primals: its arguments, or objects with their shapes and dtypes.
      reduce_axes: named axes of a batch. The cotangent of an argument that is the same for the
        whole batch, or that is given by shape and dtype only, is summed over them.
    Returns: a function from a cotangent of the output to a tuple of cotangents of the arguments. It
      is a `tree_util.Partial` whose leaves are the arrays that `fun` closes over.
    Raises: TypeError: an operation of `fun` is not linear.
    Example:
      >>> import weft
      >>> f = lambda x, y: 0.5 * x - 0.5 * y
      >>> scalar = weft.ShapeDtypeStruct((), "float32")
      >>> f_transpose = weft.linear_transpose(f, scalar, scalar)
      >>> print(f_transpose(1.0))
      (Array(0.5, dtype=float32), Array(-0.5, dtype=float32))
    Source: JAX documentation, `jax.linear_transpose`.
    """
    check_callable(fun, "linear_transpose")
    reduce_axes = names_of("linear_transpose", reduce_axes)
    flat = FlatFunction("linear_transpose", fun, primals, abstract=True)
    avals = flat.avals
    jaxpr = flat.stage()
    reduce = None
    if reduce_axes:  # which results vary is known only when the function runs
        values = [
            x if isinstance(x, Value) else zeros(a) for x, a in zip(flat.leaves, avals, strict=True)
        ]
        reduce = reduction(reduce_axes, values, run(jaxpr, values, current.trace))

    transpose = Transpose(jaxpr.without_consts(), flat.args_tree, flat.out_tree, avals)
    return Partial(transpose, jaxpr.consts, reduce)


@dataclass(frozen=True)
class Transpose:
    """A linear program to run backwards; together with its constants it is a `Partial`."""

    jaxpr: Jaxpr
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    avals: tuple[Aval, ...]

    @located
    def __call__(
        self, consts: Sequence[Value], reduce: Reduction | None, ct: PyTree
    ) -> tuple[PyTree, ...]:
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != self.out_tree:
            raise ShapeError(
                f"linear_transpose: the cotangent must have the structure of the output, "
                f"{self.out_tree}; got {ct_tree}"
            )
        cts = [transposed_value(a, c) for a, c in zip(self.jaxpr.out_avals, ct_leaves, strict=True)]

        def pull(cts: Sequence[Tangent]) -> list[Tangent]:
            return backward(self.jaxpr, consts, cts, current.trace)

        results = reduce.around(pull, cts) if reduce else pull(cts)
        return self.in_tree.unflatten(
            [instantiate(r, a) for r, a in zip(results, self.avals, strict=True)]
        )


def transposed_value(out: Aval, ct: object) -> Tangent:
    """A checked cotangent of the output. Here integers have cotangents too."""
    if out.inexact or is_float0(ct) or not is_integer_like(as_value(ct).aval, out):
        return tangent_value("linear_transpose", out, ct, lambda: "the output", "cotangent")
    value: Value = convert_element_type(as_value(ct), dtype=out.dtype)
    return value
