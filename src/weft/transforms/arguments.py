"""The arguments of a transformed function: flattened, with separate static arguments and names for
messages.

All transformations share `FlatFunction`: a function of trees as a function of leaves.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ..config import thread
from ..core.array import Array, Tracer, as_value
from ..core.aval import Aval, aval_of
from ..core.caching import exact
from ..core.jaxpr import Jaxpr
from ..core.masks import active, merge_lists, partition_list
from ..core.ref import Ref, StandIn
from ..core.source import function_line, inside_partials, located
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters.stage import StageTrace, leaked, stage, stage_with_aux
from ..tree_util import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path
from ..treedef import Kind, kind_of
from ..user_lines import noted
from .leaf_values import add_ref, argument_avals, not_an_array
from .ref_use import NO_REFS, RefUse

TreeFunction = Callable[..., Any]
"""A user's function: its arguments and results are trees."""

_NO_KEYWORDS: dict[str, Any] = {}
_TUPLE: Kind = kind_of(())  # type: ignore[assignment]
_NO_KEYWORDS_TREE = tree_flatten(_NO_KEYWORDS)[1]


class TraceKey(NamedTuple):
    """All values on which a trace of a function depends.

    Attributes:
      args_tree, kwargs_tree, avals: those of the `FlatFunction`.
      statics: the static arguments: the position or keyword of each, a key, and the value.
      switches: the `thread.key` of the call.
      refs: the numbers of the leaves that are refs.
      axis_size: the length of the mapped axis, for `pmap`.
    """

    args_tree: PyTreeDef
    kwargs_tree: PyTreeDef | None
    avals: Sequence[Aval]
    statics: Sequence[tuple[int | str, Any, Any]]
    switches: Any
    refs: Sequence[int]
    axis_size: int | None = None

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of the pair (positional arguments, keyword arguments)."""
        return pair_of(self.args_tree, self.kwargs_tree or _NO_KEYWORDS_TREE)


class FlatFunction:
    """A function of trees as a function of leaves, at the arguments of one call.

    Called with values in place of `leaves`, it returns the leaves of the result as a list of
    values. It then has an `out_tree`, and `unflatten` makes results from such lists.

    Args:
      transform: the name of the transformation, for messages.
      function: the user's function.
      args, kwargs: the arguments.
      static, static_names: positions (negative ones count from the end) and keywords of static
        arguments; missing ones are ignored.
      has_aux: whether the function returns a pair (output, auxiliary data). The values of the
        auxiliary data come last in the list.
      abstract: whether an object with a shape and a dtype may replace an array.
      takes_refs: whether leaves may be refs. The function gets stand-ins with the values of the
        refs; the caller assigns their last values to the refs.
    Attributes:
      leaves: the leaves of the traced arguments: positional ones, then keywords in sorted order.
      values: the leaves as values; empty if `abstract`.
      avals: their avals.
      args_tree: the structure of the tuple of traced positional arguments.
      kwargs_tree: the structure of the dict of traced keyword arguments; None if there are none.
      positions: the positions of the traced positional arguments.
      refs: the refs among the leaves, by number; `stand_ins`: their stand-ins in the latest call.
      out_tree: the structure of the result, without the auxiliary data.
    """

    __slots__ = (
        "args_tree", "aux_mask", "aux_objects", "aux_tree", "avals", "fixed", "fixed_names",
        "function", "has_aux", "is_traced", "kwargs_tree", "leaves", "n_outs", "out_tree",
        "positions", "refs", "stand_ins", "takes_refs", "transform", "values",
    )  # fmt: skip

    fixed: list[Any]
    is_traced: list[bool]
    out_tree: PyTreeDef
    aux_tree: PyTreeDef
    values: list[Value]
    avals: tuple[Aval, ...]
    positions: Sequence[int]
    stand_ins: list[StandIn]

    def __init__(
        self,
        transform: str,
        function: TreeFunction,
        args: Sequence[Any],
        kwargs: dict[str, Any] = _NO_KEYWORDS,
        static: Collection[int] = (),
        static_names: Collection[str] = (),
        *,
        has_aux: bool = False,
        abstract: bool = False,
        takes_refs: bool = False,
    ) -> None:
        self.transform, self.function, self.has_aux = transform, function, has_aux
        self.refs: dict[int, Ref] = {}
        self.stand_ins = []
        self.takes_refs = takes_refs
        count = len(args)
        self.positions = range(count)
        self.fixed = []
        self.is_traced = []
        self.fixed_names: dict[str, Any] = {}
        if static:
            positions = {n % count for n in static if -count <= n < count}
            self.is_traced = [i not in positions for i in range(count)]
            args, self.fixed = partition_list(args, self.is_traced)
            self.positions = [i for i, traced in enumerate(self.is_traced) if traced]
        if static_names and kwargs:
            self.fixed_names = {k: kwargs[k] for k in static_names if k in kwargs}
            kwargs = {k: x for k, x in kwargs.items() if k not in self.fixed_names}
        self.leaves, self.args_tree = tree_flatten(tuple(args))
        self.kwargs_tree: PyTreeDef | None = None
        if kwargs:
            kwargs_leaves, self.kwargs_tree = tree_flatten(kwargs)
            self.leaves = self.leaves + kwargs_leaves
        self.n_outs: int | None = None
        if abstract:
            self.values = []
            refs = self.refs if takes_refs else None
            self.avals = tuple(argument_avals(transform, function, self.leaves, self.paths, refs))
        else:
            self.values = self.argument_values()
            self.avals = tuple(map(aval_of, self.values))

    def argument_values(self) -> list[Value]:
        """The leaves as values. Raises an error for other objects."""
        refs = self.refs if self.takes_refs else None
        return argument_values(self.transform, self.function, self.leaves, self.paths, refs)

    def __call__(self, *leaves: Any) -> list[Value]:
        result = self.apply(leaves)
        if not self.has_aux:
            outs, self.out_tree = tree_flatten(result)
            return self.result_values(outs)
        if not isinstance(result, tuple) or len(result) != 2:
            raise ShapeError(
                f"{self.transform}: with has_aux=True {function_line(self.function)} must return a "
                f"pair (output, auxiliary data); got {described(result)}"
            )
        outs, self.out_tree = tree_flatten(result[0])
        values = self.result_values(outs)
        self.n_outs = len(values)
        # values are not stored here, because a pullback may live long
        aux, self.aux_tree = tree_flatten(result[1])
        self.aux_mask = [isinstance(x, Value) for x in aux]
        aux_values, self.aux_objects = partition_list(aux, self.aux_mask)
        return values + aux_values

    def apply(self, leaves: Sequence[Any]) -> Any:
        """The function's result, a tree, for leaves in place of the arguments'."""
        if self.refs:
            return self.apply_to_stand_ins(leaves)
        return self.call_with(leaves)

    def apply_to_stand_ins(self, leaves: Sequence[Any]) -> Any:
        """Like `call_with`, with stand-ins for refs, which cannot be used themselves meanwhile."""
        trace, refs = current.trace, self.refs
        self.stand_ins = [StandIn(leaves[i], trace) for i in refs]
        in_place = dict(zip(refs, self.stand_ins, strict=True))
        leaves = [in_place.get(i, x) for i, x in enumerate(leaves)]
        try:
            for ref in refs.values():
                ref.lend(f"{self.transform} of {function_line(self.function)}")
            return self.call_with(leaves)
        finally:
            for ref in refs.values():
                ref.take_back()

    def call_with(self, leaves: Sequence[Any]) -> Any:
        """Calls the function with these leaves."""
        if self.kwargs_tree is None:
            args, kwargs = self.args_tree.unflatten(leaves), self.fixed_names
        else:
            args, kwargs = unflattened(self.args_tree, self.kwargs_tree, leaves)
            kwargs = {**kwargs, **self.fixed_names}
        if self.fixed:
            args = merge_lists(args, self.fixed, self.is_traced)
        return self.function(*args, **kwargs)

    def result_values(self, leaves: Sequence[Any]) -> list[Value]:
        """The leaves of the result as values. Raises an error for other objects."""
        return output_values(self.transform, self.function, leaves)

    def unflatten(self, outs: Sequence[Any]) -> Any:
        """The function's output, without auxiliary data, from the list of a call's results."""
        return self.out_tree.unflatten(outs if self.n_outs is None else outs[: self.n_outs])

    def aux(self, outs: Sequence[Any]) -> Any:
        """The auxiliary data, from the list of a call's results."""
        leaves = merge_lists(outs[self.n_outs :], self.aux_objects, self.aux_mask)
        return self.aux_tree.unflatten(leaves)

    def stage(self, name: str | None = None, **options: Any) -> Jaxpr:
        """Traces the function on the avals of its arguments; `options` are passed to `stage`.

        Args:
          name: the name of the program; by default the name of the function.
        """
        return stage(
            self,
            self.avals,
            name=name or name_of(self.function),
            transform=self.transform,
            about=self.function,
            names=self.names,
            **options,
        )

    def stage_with_refs(self) -> tuple[Jaxpr, RefUse]:
        """Traces the function like `stage`; also returns the refs that it uses. These are
        additional inputs and results of the program: see `RefUse`.
        """
        trace = StageTrace(self.transform, self.function)
        outside = trace.stand_ins = {}

        def function(*leaves: Value) -> tuple[list[Value], list[bool]]:
            outs = self(*leaves)
            if not outside and not self.refs:
                return outs, []
            first: list[Any] = [*[leaves[i] for i in self.refs], *trace.inputs[len(leaves) :]]
            stand_ins = [*self.stand_ins, *outside.values()]
            last = [ref.end() for ref in stand_ins]
            written = [x is not y for x, y in zip(last, first, strict=True)]
            return [*outs, *active(last, written)], written

        jaxpr, written = stage_with_aux(
            function,
            self.avals,
            name=name_of(self.function),
            about=self.function,
            names=self.names,
            trace=trace,
        )
        return jaxpr, RefUse(tuple(outside), tuple(written)) if written else NO_REFS

    def paths(self) -> list[str]:
        """The name of each leaf for messages: `x`, `params['w'][0]`."""
        args, kwargs = unflattened(self.args_tree, self.kwargs_tree, self.leaves)
        return leaf_paths(self.function, args, kwargs, self.positions)

    @property
    def names(self) -> Callable[[], list[str]]:
        """A function that returns the paths. It does not refer to arguments, so a trace may keep
        it."""
        return functools.partial(
            tree_paths, self.function, self.args_tree, self.kwargs_tree, self.avals, self.positions
        )

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of the pair (positional arguments, keyword arguments)."""
        return pair_of(self.args_tree, self.kwargs_tree or _NO_KEYWORDS_TREE)

    @property
    def statics(self) -> Sequence[tuple[int | str, Any, Any]]:
        """The static arguments: the position or keyword of each, a key, and the value. Raises an
        error for arguments that are not hashable."""
        if not self.fixed and not self.fixed_names:
            return ()
        named = self.named_statics()
        for position, value in named:
            check_hashable(self.transform, self.function, position, value)
        return tuple([(position, exact(x), x) for position, x in named])

    def named_statics(self) -> list[tuple[int | str, Any]]:
        """The static arguments, each with its position or keyword."""
        positions = [i for i, traced in enumerate(self.is_traced) if not traced]
        return [*zip(positions, self.fixed, strict=True), *sorted(self.fixed_names.items())]

    @property
    def key(self) -> TraceKey:
        """All values on which a trace of the function at these arguments depends."""
        trees = self.args_tree, self.kwargs_tree
        return TraceKey(*trees, self.avals, self.statics, thread.key, tuple(self.refs))

    def leaves_of(self, argnums: Iterable[int], argnames: Iterable[str] = ()) -> list[int]:
        """The numbers of the leaves of some arguments, given by position and by keyword.

        Negative positions count from the end. An argument that is static, or not in the call, has
        no leaves.
        """
        count = len(self.positions) + len(self.fixed)
        chosen = {n % count for n in argnums if -count <= n < count} | set(argnames)
        names: list[int | str] = [*self.positions]
        trees = self.args_tree.children()
        if self.kwargs_tree is not None:
            names += self.kwargs_tree.data
            trees += self.kwargs_tree.children()
        owners = [n for n, tree in zip(names, trees, strict=True) for _ in range(tree.num_leaves)]
        return [leaf for leaf, owner in enumerate(owners) if owner in chosen]


class FunctionWithObjects(FlatFunction):
    """A function with arguments that may be arbitrary objects, which are passed on unchanged.

    Attributes:
      objects: the leaves that are not arrays, by number. Among the values, a zero replaces each.
    """

    __slots__ = ("objects",)

    def with_objects(self, objects: dict[int, Any]) -> list[Value]:
        """Sets `objects`, and returns the argument values, with zeros for these objects."""
        self.objects = objects
        self.leaves = [0 if i in objects else x for i, x in enumerate(self.leaves)]
        return super().argument_values()

    def call_with(self, leaves: Sequence[Any]) -> Any:
        return super().call_with(with_objects(leaves, self.objects))


def with_objects(leaves: Sequence[Any], objects: dict[int, Any]) -> Sequence[Any]:
    """The leaves, with the objects inserted at their numbers."""
    return [objects.get(i, x) for i, x in enumerate(leaves)] if objects else leaves


def pair_of(first: PyTreeDef, second: PyTreeDef) -> PyTreeDef:
    """The structure of a pair of trees of these structures."""
    return _TUPLE.node(None, (first, second))


def unflattened(
    args_tree: PyTreeDef, kwargs_tree: PyTreeDef | None, leaves: Sequence[Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Positional and keyword arguments of these structures."""
    if kwargs_tree is None:
        return args_tree.unflatten(leaves), _NO_KEYWORDS
    count = args_tree.num_leaves
    return args_tree.unflatten(leaves[:count]), kwargs_tree.unflatten(leaves[count:])


def tree_paths(
    function: TreeFunction,
    args_tree: PyTreeDef,
    kwargs_tree: PyTreeDef | None,
    leaves: Sequence[Any],
    positions: Iterable[int],
) -> list[str]:
    """The names of the leaves of arguments of these structures."""
    args, kwargs = unflattened(args_tree, kwargs_tree, leaves)
    return leaf_paths(function, args, kwargs, positions)


def name_of(function: Any) -> str:
    """The function's name, or the name of its type if it has none."""
    function = inside_partials(function)
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    return name if isinstance(name, str) else type(function).__name__


def described(x: Any) -> str:
    """A short description for messages: an aval, or a type and its value or number of items."""
    if isinstance(x, Value):
        return str(x.aval)
    is_simple = isinstance(x, (tuple, list)) and {*map(type, x)} <= {int, float, bool, str}
    if isinstance(x, (tuple, list, dict)) and not (is_simple and len(x) <= 6):
        return f"a {type(x).__name__} of {len(x)}"
    return f"{type(x).__name__} {x!r:.60}"


_RETURN = "return a list or a tuple instead of yielding"
_UNSUPPORTED = (
    (inspect.isgeneratorfunction, "generator function", _RETURN),
    (inspect.iscoroutinefunction, "coroutine function",
     "remove async: weft does not await results"),
    (inspect.isasyncgenfunction, "asynchronous generator", _RETURN),
)  # fmt: skip


@located
def check_callable(function: Any, transform: str) -> None:
    """Raises an error unless the function is an ordinary one."""
    if not callable(function):
        raise TypeError(f"{transform}: expected a function; got {described(function)}")
    for is_of_kind, kind, cure in _UNSUPPORTED:
        if is_of_kind(function):
            raise TypeError(
                f"{transform}: expected a function; got the {kind} {function_line(function)}\n"
                f"  fix: {cure}"
            )


def as_tuple(x: Any, kind: type, what: str) -> tuple[Any, ...]:
    """One item, or an iterable of them, as a tuple."""
    if isinstance(x, kind):
        return (x,)
    items = tuple(x)
    for item in items:
        if not isinstance(item, kind) and not hasattr(item, "__index__"):
            raise TypeError(f"{what}: expected {kind.__name__}s; got {item!r}")
    return tuple(int(i) for i in items) if kind is int else items


def parameters(function: Any) -> list[inspect.Parameter]:
    """The function's parameters; an empty list if it has no signature."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@located
def static_arguments(
    function: Any, argnums: Any, argnames: Any, transform: str = "jit", word: str = "static"
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the static arguments. If only one is passed, the other is inferred
    (JAX documentation, `jax.jit`).
    """
    nums = None if argnums is None else as_tuple(argnums, int, f"{transform}: {word}_argnums")
    names = None if argnames is None else as_tuple(argnames, str, f"{transform}: {word}_argnames")
    params = parameters(function)
    positional = [p.name for p in params if p.kind in _POSITIONAL]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in params) or not params
    if nums is not None:
        limit = len(positional)
        for n in nums:
            if not variadic and not -limit <= n < limit:
                raise ValueError(
                    f"{transform}: {word}_argnums={n} is out of range for "
                    f"{function_line(function)}, which has {limit} positional parameters"
                )
        if not variadic:
            nums = tuple(n % limit for n in nums)
    if names is not None and params and not any(p.kind is p.VAR_KEYWORD for p in params):
        param_names = {p.name for p in params}
        for n in names:
            if n not in param_names:
                raise ValueError(
                    f"{transform}: {word}_argnames={n!r} is not a parameter of "
                    f"{function_line(function)}; its parameters: {', '.join(sorted(param_names))}"
                )
    if nums is None and names is not None:
        nums = tuple(positional.index(n) for n in names if n in positional)
    elif names is None and nums is not None:
        by_keyword = [p.name for p in params if p.kind is p.POSITIONAL_OR_KEYWORD]
        names = tuple(
            positional[n] for n in nums if 0 <= n < len(positional) and positional[n] in by_keyword
        )
    return nums or (), names or ()


@located
def positions_of(function: Any, names: Any, transform: str, word: str) -> tuple[int, ...]:
    """The positions of parameters, from their names."""
    positions, names = static_arguments(function, None, names, transform, word)
    if len(positions) < len(names):
        raise ValueError(
            f"{transform}: {word}_argnames={names!r} must name parameters that may be passed by "
            f"position to {function_line(function)}"
        )
    return positions


def argument_name(function: Any, position: int | str) -> str:
    """The name of an argument for messages, from its position or keyword."""
    if isinstance(position, str):
        return repr(position)
    names = [p.name for p in parameters(function) if p.kind in _POSITIONAL]
    return repr(names[position]) if position < len(names) else f"#{position}"


def note_comparison(
    error: BaseException, transform: str, function: Any, statics: Iterable[tuple[int | str, Any]]
) -> None:
    """Adds a note to an error from the `__eq__` of a static argument: the name of the argument."""
    trace = error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        if frame.f_code.co_name != "__eq__":
            continue
        for position, value in statics:
            if any(x is value for x in frame.f_locals.values()):
                error.add_note(
                    f"  {transform}: the static argument {argument_name(function, position)} of "
                    f"{function_line(function)} was compared with the argument of an earlier call"
                )
                return


def check_hashable(transform: str, function: Any, position: int | str, value: Any) -> None:
    """Raises an error for a static argument that is not hashable."""
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"{transform}: the static argument {argument_name(function, position)} of "
            f"{function_line(function)} must be "
            f"hashable; got {type(value).__name__} {value!r:.80}\n"
            "  fix: pass a tuple instead of a list, a frozen dataclass instead of a dict, or make "
            "the argument traced"
        ) from None


def leaf_paths(
    function: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    positions: Iterable[int] | None = None,
) -> list[str]:
    """The name of each leaf of the arguments: `x`, `params['w'][0]`."""
    params = parameters(function)
    names = [p.name for p in params if p.kind in _POSITIONAL]
    variadic = next((p.name for p in params if p.kind is p.VAR_POSITIONAL), "args")
    paths = []
    for i, arg in zip(range(len(args)) if positions is None else positions, args, strict=True):
        stem = names[i] if i < len(names) else f"{variadic}[{i - len(names)}]"
        paths += [stem + keystr(path) for path, _ in tree_flatten_with_path(arg)[0]]
    for key in sorted(kwargs):
        paths += [key + keystr(path) for path, _ in tree_flatten_with_path(kwargs[key])[0]]
    return paths


def argument_values(
    transform: str,
    function: Any,
    leaves: Sequence[Any],
    paths: Callable[[], list[str]],
    refs: dict[int, Ref] | None = None,
) -> list[Any]:
    """The leaves as values. The error for a leaf that is not an array names the argument.

    Args:
      refs: collects the refs among the leaves, by number, and their values are returned; `None`
        makes refs an error.
    """
    values = []
    for i, leaf in enumerate(leaves):
        if leaf.__class__ is Array or isinstance(leaf, Value):
            if isinstance(leaf, Tracer) and leaf._trace.has_ended():
                raise leaked(leaf._trace, f"{transform}: argument {paths()[i]}", leaf)
            values.append(leaf)
            continue
        if refs is not None and isinstance(leaf, Ref):
            add_ref(refs, i, leaf, transform, function, paths)
            values.append(leaf.read(f"{transform}: argument {paths()[i]}"))
            continue
        try:
            values.append(as_value(leaf))
        except (TypeError, ValueError) as error:
            expected = "an array or a scalar"
            raise not_an_array(transform, function, paths()[i], expected, leaf, error) from None
    return values


def output_values(transform: str, function: Any, leaves: Sequence[Any]) -> list[Any]:
    """The leaves of a function's result as values. Raises an error for other objects."""
    values = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Value):
            values.append(leaf)
            continue
        try:
            values.append(as_value(leaf))
        except (TypeError, ValueError):
            cure = (
                "return ref[...], the value of the ref"
                if isinstance(leaf, Ref)
                else "return arrays only; return other objects through has_aux or a "
                "separate function"
            )
            raise noted(
                ShapeError(
                    f"{transform}: {function_line(function)} must return arrays, scalars or "
                    f"containers of them; leaf {i} of its result is a {type(leaf).__name__}: "
                    f"{leaf!r:.60}\n  fix: {cure}"
                )
            ) from None
    return values
