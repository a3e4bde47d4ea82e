"""The functions passed to control flow: traced, and checked against the carry or other branches."""

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array, Tracer, as_value
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, Var
from ..core.masks import active, groups_of
from ..core.ref import Ref
from ..core.source import check_arity, function_line
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters.stage import leaked
from ..primitives.structural import convert_element_type
from ..programs.hash_consing import hash_consed, is_eager, numbers_as_inputs
from ..transforms.arguments import FlatFunction, TreeFunction
from ..transforms.ref_use import NO_REFS, RefUse
from ..tree_util import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path
from ..typing import PyTree


def values_of(operation: str, argument: str, tree: PyTree) -> tuple[list[Value], PyTreeDef]:
    """The leaves of an argument as values, and its structure."""
    leaves, treedef = tree_flatten(tree)
    values = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Value):
            if isinstance(leaf, Tracer) and leaf._trace.has_ended():
                path = paths_of(argument, tree)[i]
                raise leaked(leaf._trace, f"{operation}: {path}", leaf)
            values.append(leaf)
            continue
        try:
            values.append(as_value(leaf))
        except (TypeError, ValueError):
            raise ShapeError(
                f"{operation}: expected arrays or scalars; got a {type(leaf).__name__}, "
                f"{leaf!r:.60}, at {paths_of(argument, tree)[i]}\n"
                "  fix: close over it instead of passing it"
            ) from None
    return values, treedef


def paths_of(argument: str, tree: PyTree) -> list[str]:
    """The name of each leaf: `carry['a'][0]`."""
    return [argument + keystr(path) for path, _ in tree_flatten_with_path(tree)[0]]


def leaf_names(argument: str, treedef: PyTreeDef) -> list[str]:
    """The name of each leaf of a structure."""
    return paths_of(argument, treedef.unflatten(range(treedef.num_leaves)))


def integer_scalar(operation: str, argument: str, x: Any) -> Value:
    """An integer scalar as a value; anything else raises an error."""
    try:
        value = as_value(x)
    except (TypeError, ValueError):
        raise ShapeError(
            f"{operation}: {argument} must be an integer scalar; got a {type(x).__name__}, "
            f"{x!r:.60}"
        ) from None
    if value.shape or not dtypes.is_integer(value.dtype):
        raise ShapeError(f"{operation}: {argument} must be an integer scalar; got {value.aval}")
    return value


class Body:
    """A traced function: its program without constants, the constants, and the tree of its result.

    Attributes:
      refs: the refs that it closes over. Their values are the last inputs of the program, and the
        new values of those that are written its last results.
    """

    __slots__ = ("consts", "jaxpr", "refs", "result_tree")

    def __init__(
        self, jaxpr: Jaxpr, consts: Sequence[Value], result_tree: PyTreeDef, refs: RefUse = NO_REFS
    ) -> None:
        self.jaxpr, self.consts, self.result_tree = jaxpr, list(consts), result_tree
        self.refs = refs

    @property
    def avals(self) -> list[Aval]:
        """The avals of the result's leaves."""
        return self.jaxpr.out_avals[: self.result_tree.num_leaves]

    def with_refs(self, refs: Sequence[Ref], is_written: Sequence[bool]) -> "Body":
        """The same as a body that uses these refs, and changes those that are written."""
        body_refs = self.refs
        if body_refs.outside == tuple(refs) and body_refs.written == tuple(is_written):
            return self
        n, m = self.result_tree.num_leaves, len(body_refs.outside)
        inputs = self.jaxpr.invars[: len(self.jaxpr.invars) - m]
        inputs_of_refs = dict(zip(body_refs.outside, self.jaxpr.invars[len(inputs) :], strict=True))
        outputs_of_refs: dict[Ref, Any] = {
            ref: inputs_of_refs.get(ref) or Var(ref.aval) for ref in refs
        }
        values = [outputs_of_refs[ref] for ref in refs]
        outputs_of_refs.update(
            zip(active(body_refs.outside, body_refs.written), self.jaxpr.outvars[n:], strict=True)
        )
        jaxpr = self.jaxpr.replace(
            invars=[*inputs, *values],
            outvars=[
                *self.jaxpr.outvars[:n],
                *[outputs_of_refs[ref] for ref in active(refs, is_written)],
            ],
        )
        ref_use = RefUse(tuple(refs), tuple(is_written))
        return Body(hash_consed(jaxpr), self.consts, self.result_tree, ref_use)

    def carrying_refs(self) -> "Body":
        """The same as a body that carries the values of all its refs and returns them."""
        return self.with_refs(self.refs.outside, [True] * len(self.refs.outside))

    def refs_before_slices(self, n_carry: int) -> Jaxpr:
        """The program (carry, refs, x) -> (carry, refs, y), from (carry, x, refs) -> (carry, y,
        refs)."""
        m = len(self.refs.outside)
        if not m:
            return self.jaxpr
        ins, outs = self.jaxpr.invars, self.jaxpr.outvars
        i, n = len(self.consts) + n_carry, self.result_tree.num_leaves
        return hash_consed(
            self.jaxpr.replace(
                invars=[*ins[:i], *ins[-m:], *ins[i:-m]],
                outvars=[*outs[:n_carry], *outs[n:], *outs[n_carry:n]],
            )
        )

    def assign_refs(self, operation: str, values: Sequence[Value]) -> None:
        """Assigns to the refs that the body writes their values after a loop that carried all
        refs."""
        self.refs.assign(operation, (), active(values, self.refs.written))


def with_common_refs(bodies: Sequence[Body]) -> tuple[list[Body], RefUse]:
    """Bodies that all take the refs that any of the given ones use or change; and these refs."""
    written: dict[Ref, bool] = {}
    for b in bodies:
        for ref, is_written in zip(b.refs.outside, b.refs.written, strict=True):
            written[ref] = written.get(ref, False) or is_written
    refs = RefUse(tuple(written), tuple(written.values()))
    return [b.with_refs(*refs) for b in bodies], refs


class BodyFunction(FlatFunction):
    """A function of several trees as a function of all their leaves.

    Args:
      role: the role of the function in the operation: "body".
      trees: the structures of its arguments by name: "carry", "x".
    """

    __slots__ = ("role", "trees")

    def __init__(
        self,
        operation: str,
        role: str,
        function: TreeFunction,
        trees: dict[str, PyTreeDef],
        avals: Sequence[Aval],
    ) -> None:
        self.transform, self.function, self.has_aux = operation, function, False
        self.refs, self.stand_ins = {}, []
        self.role, self.trees, self.avals, self.n_outs = role, trees, tuple(avals), None

    def apply(self, leaves: Sequence[Any]) -> PyTree:
        *groups, _ = groups_of(leaves, *[tree.num_leaves for tree in self.trees.values()])
        trees = zip(self.trees.values(), groups, strict=True)
        return self.function(*[tree.unflatten(group) for tree, group in trees])

    def result_values(self, leaves: Sequence[Any]) -> list[Value]:
        values = []
        for i, leaf in enumerate(leaves):
            try:
                values.append(as_value(leaf))
            except (TypeError, ValueError):
                raise ShapeError(
                    f"{self.transform}: the {self.role} {function_line(self.function)} must return "
                    f"arrays, scalars or containers of them; got a {type(leaf).__name__}, "
                    f"{leaf!r:.60}, at {leaf_names('result', self.out_tree)[i]}"
                    + ("\n  fix: return its value, ref[...]" * isinstance(leaf, Ref))
                ) from None
        return values

    def paths(self) -> list[str]:
        return [
            name for argument, tree in self.trees.items() for name in leaf_names(argument, tree)
        ]

    @property
    def names(self) -> Callable[[], list[str]]:
        return self.paths


def traced(
    operation: str,
    role: str,
    function: TreeFunction,
    trees: dict[str, PyTreeDef],
    avals: Sequence[Aval],
    lift_numbers: bool = True,
) -> Body:
    """Traces a function of several trees; see `BodyFunction`.

    Args:
      lift_numbers: if True, floating-point numbers become inputs outside `jit`.
    """

    body_function = BodyFunction(operation, role, function, trees, avals)
    jaxpr, refs = body_function.stage_with_refs()
    program = jaxpr.without_consts()
    numbers: list[Array] = []
    if lift_numbers and is_eager(current.trace):
        program, numbers = numbers_as_inputs(program)
    return Body(hash_consed(program), [*numbers, *jaxpr.consts], body_function.out_tree, refs)


class Adapted:
    """A user's function with the signature that a loop needs: `form(function, *args)`."""

    def __init__(self, function: TreeFunction, form: Callable[..., PyTree]) -> None:
        self.__wrapped__, self.form = function, form
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args: PyTree) -> PyTree:
        return self.form(self.__wrapped__, *args)


def check_function(
    operation: str, role: str, function: object, argument_names: Sequence[str] | None = None
) -> None:
    """Refuses an object that cannot be called with these arguments."""
    if not callable(function):
        description = getattr(function, "aval", f"a {type(function).__name__}, {function!r:.60}")
        raise TypeError(
            f"{operation}: the {role} must be a function; got {description}\n"
            "  fix: lambda x: …, if it is a value"
        )
    if argument_names is not None:
        check_arity(f"{operation}: the {role}", function, argument_names)


def widened_carry(carry: Sequence[Value], outs: Sequence[Aval]) -> list[Value] | None:
    """A carry with its weak types promoted as the body promotes them; `None` if none changed.

    A loop that begins with the number 0 and adds float32 has a float32 carry.
    """
    has_changed = False
    result = []
    for x, out in zip(carry, outs, strict=True):
        a = x.aval
        if a.weak_type and a.dtype != out.dtype:
            dtype, weak_type = dtypes.promote(a.dtype, True, out.dtype, out.weak_type)
            if dtype != a.dtype:
                x = convert_element_type(x, dtype=dtype, weak_type=weak_type)
                has_changed = True
        result.append(x)
    return result if has_changed else None


def check_carry(
    operation: str,
    function: TreeFunction,
    tree: PyTreeDef,
    avals: Sequence[Aval],
    out_tree: PyTreeDef,
    outs: Sequence[Aval],
    argument: str = "carry",
) -> None:
    """Refuses a body that returns a carry of another structure or type."""
    location = function_line(function)
    if out_tree != tree:
        raise ShapeError(
            f"{operation}: the body {location} must return the {argument} in the structure in "
            f"which it takes it, {tree_text(tree)}; got {tree_text(out_tree)}\n"
            f"  fix: return the same containers, with the same keys and lengths, as in the initial "
            f"{argument}"
        )
    rows = []
    shapes_differ = dtypes_differ = False
    for name, a, o in zip(leaf_names(argument, tree), avals, outs, strict=True):
        if a.shape != o.shape or a.dtype != o.dtype:
            rows.append(f"  {name}: takes {a}, returns {o}")
            shapes_differ = shapes_differ or a.shape != o.shape
            dtypes_differ = dtypes_differ or a.dtype != o.dtype
    if rows:
        fixes = []
        if dtypes_differ:
            fixes.append(
                f"convert with .astype in the body, or begin with a {argument} of that dtype"
            )
        if shapes_differ:
            fixes.append(
                f"begin with a {argument} of that shape (numpy.broadcast_to), or reduce it in the "
                "body: all steps have the same shapes"
            )
        raise ShapeError(
            f"{operation}: the body {location} must return the {argument} in the types in which it "
            f"takes it; got\n" + "\n".join(rows) + f"\n  fix: {'; '.join(fixes)}"
        )


def tree_text(tree: PyTreeDef) -> str:
    """A structure as Python code, with `*` for a leaf."""
    return repr(tree)[len("PyTreeDef(") : -1]
