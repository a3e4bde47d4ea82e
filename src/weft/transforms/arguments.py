"""The arguments of a transformed function: flattened, static ones apart, named for messages.

`FlatFunction` is what the transformations share: a function of trees as one of leaves. Knows Python
signatures, pytrees and tracing; knows nothing of what a transformation does.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum
from typing import Any

from .. import dtypes
from ..config import thread
from ..core.array import Array, Tracer, as_value
from ..core.aval import Aval, aval, aval_of
from ..core.caching import exact
from ..core.jaxpr import Jaxpr
from ..core.masks import merge_lists, partition_list
from ..core.source import function_line, inside_partials, located, noted
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters.stage import leaked, stage
from ..tree_util import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path
from ..treedef import Kind, kind_of

TreeFunction = Callable[..., Any]
"""A user's function: its arguments and results are trees."""

_NO_KEYWORDS: dict[str, Any] = {}
_TUPLE: Kind = kind_of(())  # type: ignore[assignment]
_NO_KEYWORDS_TREE = tree_flatten(_NO_KEYWORDS)[1]


class FlatFunction:
    """A function of trees as a function of leaves, at the arguments of one call.

    Called with values in the place of `leaves` it returns the list of values that the result's
    leaves are; from then on it has an `out_tree`, and `unflatten` makes results of such lists.

    Args:
      transform: the name of the transformation, for messages.
      function: the user's function.
      args, kwargs: the arguments.
      static, static_names: positions (negative ones count from the end) and keywords of arguments
        that stay as they are; those that aren't in the call are ignored.
      has_aux: whether the function returns a pair (output, auxiliary data). The list of values then
        goes on with those of the auxiliary data.
      abstract: whether anything with a shape and a dtype will do for an array.
    Attributes:
      leaves: of the arguments that aren't static: positional ones, then those by keyword, sorted.
      values: the leaves as values; empty if `abstract`.
      avals: their avals.
      args_tree: the structure of the tuple of positional arguments that aren't static.
      kwargs_tree: the structure of the dict of the others; None if there are none.
      positions: of the positional arguments that aren't static.
      out_tree: the structure of the result, or of the output without the auxiliary data.
    """

    __slots__ = (
        "args_tree", "aux_mask", "aux_rest", "aux_tree", "avals", "fixed", "fixed_names",
        "function", "has_aux", "is_traced", "kwargs_tree", "leaves", "n_outs", "out_tree",
        "positions", "transform", "values",
    )  # fmt: skip

    fixed: list[Any]
    is_traced: list[bool]
    out_tree: PyTreeDef
    aux_tree: PyTreeDef
    values: list[Value]
    avals: tuple[Aval, ...]
    positions: Sequence[int]

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
    ) -> None:
        self.transform, self.function, self.has_aux = transform, function, has_aux
        count = len(args)
        self.positions = range(count)
        self.fixed = []
        self.is_traced = []
        self.fixed_names: dict[str, Any] = {}
        if static:
            numbers = {n % count for n in static if -count <= n < count}
            self.is_traced = [i not in numbers for i in range(count)]
            args, self.fixed = partition_list(args, self.is_traced)
            self.positions = [i for i, traced in enumerate(self.is_traced) if traced]
        if static_names and kwargs:
            self.fixed_names = {k: kwargs[k] for k in static_names if k in kwargs}
            kwargs = {k: x for k, x in kwargs.items() if k not in self.fixed_names}
        self.leaves, self.args_tree = tree_flatten(tuple(args))
        self.kwargs_tree: PyTreeDef | None = None
        if kwargs:
            named, self.kwargs_tree = tree_flatten(kwargs)
            self.leaves = self.leaves + named
        self.n_outs: int | None = None
        if abstract:
            self.values = []
            self.avals = tuple(argument_avals(transform, function, self.leaves, self.paths))
        else:
            self.values = self.argument_values()
            self.avals = tuple(map(aval_of, self.values))

    def argument_values(self) -> list[Value]:
        """The leaves as values; anything else is an error."""
        return argument_values(self.transform, self.function, self.leaves, self.paths)

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
        # only what isn't a value stays here: a pullback may be kept for long
        aux, self.aux_tree = tree_flatten(result[1])
        self.aux_mask = [isinstance(x, Value) for x in aux]
        aux_values, self.aux_rest = partition_list(aux, self.aux_mask)
        return values + aux_values

    def apply(self, leaves: Sequence[Any]) -> Any:
        """The function's result, a tree, for leaves in the place of the arguments'."""
        if self.kwargs_tree is None:
            args, kwargs = self.args_tree.unflatten(leaves), self.fixed_names
        else:
            args, kwargs = unflattened(self.args_tree, self.kwargs_tree, leaves)
            kwargs = {**kwargs, **self.fixed_names}
        if self.fixed:
            args = merge_lists(args, self.fixed, self.is_traced)
        return self.function(*args, **kwargs)

    def result_values(self, leaves: Sequence[Any]) -> list[Value]:
        """The leaves of the result as values; anything else is an error."""
        return output_values(self.transform, self.function, leaves)

    def unflatten(self, outs: Sequence[Any]) -> Any:
        """The function's output, without auxiliary data, for what a call returned."""
        return self.out_tree.unflatten(outs if self.n_outs is None else outs[: self.n_outs])

    def aux(self, outs: Sequence[Any]) -> Any:
        """The auxiliary data for what a call returned."""
        leaves = merge_lists(outs[self.n_outs :], self.aux_rest, self.aux_mask)
        return self.aux_tree.unflatten(leaves)

    def stage(self, **options: Any) -> Jaxpr:
        """The function traced on the arguments' avals; `options` are those of `stage`."""
        known: dict[str, Any] = {
            "name": name_of(self.function),
            "transform": self.transform,
            "about": self.function,
            "names": self.names,
        }
        return stage(self, self.avals, **(known | options))

    def paths(self) -> list[str]:
        """The name of each leaf, for messages: `x`, `params['w'][0]`."""
        args, kwargs = unflattened(self.args_tree, self.kwargs_tree, self.leaves)
        return leaf_paths(self.function, args, kwargs, self.positions)

    @property
    def names(self) -> Callable[[], list[str]]:
        """A function that returns the paths and refers to no argument: a trace may keep it."""
        return functools.partial(
            tree_paths, self.function, self.args_tree, self.kwargs_tree, self.avals, self.positions
        )

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of the pair (positional arguments, keyword arguments)."""
        return pair_of(self.args_tree, self.kwargs_tree or _NO_KEYWORDS_TREE)

    def check_static(self) -> None:
        """Refuses static arguments that have no hash."""
        _ = self.statics

    @property
    def statics(self) -> tuple[Any, ...]:
        """The static arguments as a part of a key; what has no hash is refused."""
        if not self.fixed and not self.fixed_names:
            return ()
        count = len(self.positions) + len(self.fixed)
        named = self.named_statics()
        for which, value in named:
            check_hashable(self.transform, self.function, which, value)
        return ("n", count), *[(which, exact(x), x) for which, x in named]

    def named_statics(self) -> list[tuple[int | str, Any]]:
        """The static arguments, each with its position or keyword."""
        numbers = [i for i, traced in enumerate(self.is_traced) if not traced]
        named: list[tuple[int | str, Any]] = [*zip(numbers, self.fixed, strict=True)]
        return named + sorted(self.fixed_names.items())

    @property
    def key(self) -> tuple[Any, ...]:
        """All that a trace of the function at these arguments depends on."""
        return self.args_tree, self.kwargs_tree, self.avals, self.statics, thread.key

    def leaves_of(self, argnums: Iterable[int], argnames: Iterable[str] = ()) -> list[int]:
        """The numbers of the leaves of some arguments, by position and by keyword.

        Negative positions count from the end; what isn't in the call, or is static, has no leaves.
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
    """The function's name, as well as it can be told."""
    function = inside_partials(function)
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    return name if isinstance(name, str) else type(function).__name__


def described(x: Any) -> str:
    """A short description for messages: an aval, or a type and its number of items."""
    if isinstance(x, Value):
        return str(x.aval)
    if isinstance(x, (tuple, list, dict)):
        return f"a {type(x).__name__} of {len(x)}"
    return f"{type(x).__name__} {x!r:.60}"


_REFUSED = (
    (
        inspect.isgeneratorfunction,
        "generator function",
        "return a list or a tuple instead of yielding",
    ),
    (
        inspect.iscoroutinefunction,
        "coroutine function",
        "take off the async; weft doesn't wait for results",
    ),
    (
        inspect.isasyncgenfunction,
        "asynchronous generator",
        "return a list or a tuple instead of yielding",
    ),
)


@located
def check_callable(function: Any, transform: str) -> None:
    """Refuses what can't be called."""
    if not callable(function):
        raise TypeError(f"{transform}: expected a function; got {described(function)}")
    for is_kind, kind, cure in _REFUSED:
        if is_kind(function):
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
    """The function's parameters; none if it doesn't tell."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@located
def static_arguments(
    function: Any, argnums: Any, argnames: Any, transform: str = "jit", word: str = "static"
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the static arguments; the one is inferred from the other.

    If both are passed, neither is inferred (JAX documentation, `jax.jit`).
    """
    nums = None if argnums is None else as_tuple(argnums, int, f"{transform}: {word}_argnums")
    names = None if argnames is None else as_tuple(argnames, str, f"{transform}: {word}_argnames")
    known = parameters(function)
    positional = [p.name for p in known if p.kind in _POSITIONAL]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in known) or not known
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
    if names is not None and known:
        keywords = any(p.kind is p.VAR_KEYWORD for p in known)
        every = {p.name for p in known}
        for n in names:
            if n not in every and not keywords:
                raise ValueError(
                    f"{transform}: {word}_argnames={n!r} is no parameter of "
                    f"{function_line(function)}; its parameters: {', '.join(sorted(every))}"
                )
    if nums is None and names is not None:
        nums = tuple(positional.index(n) for n in names if n in positional)
    elif names is None and nums is not None:
        by_name = [p.name for p in known if p.kind is p.POSITIONAL_OR_KEYWORD]
        names = tuple(
            positional[n] for n in nums if 0 <= n < len(positional) and positional[n] in by_name
        )
    return nums or (), names or ()


@located
def positions_of(function: Any, names: Any, transform: str, word: str) -> tuple[int, ...]:
    """The positions of parameters by their names."""
    positions, names = static_arguments(function, None, names, transform, word)
    if len(positions) < len(names):
        raise ValueError(
            f"{transform}: {word}_argnames={names!r} must name parameters that may be passed by "
            f"position to {function_line(function)}"
        )
    return positions


def argument_name(function: Any, which: int | str) -> str:
    """The name of an argument in messages, for its position or keyword."""
    if isinstance(which, str):
        return repr(which)
    names = [p.name for p in parameters(function) if p.kind in _POSITIONAL]
    return repr(names[which]) if which < len(names) else f"#{which}"


def note_comparison(
    error: BaseException, transform: str, function: Any, statics: Iterable[tuple[int | str, Any]]
) -> None:
    """Adds a note to an error that a static argument's `__eq__` raised: which argument it is."""
    trace = error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        if frame.f_code.co_name != "__eq__":
            continue
        for which, value in statics:
            if any(x is value for x in frame.f_locals.values()):
                error.add_note(
                    f"  {transform}: the static argument {argument_name(function, which)} of "
                    f"{function_line(function)} was compared with that of an earlier call"
                )
                return


def check_hashable(transform: str, function: Any, which: int | str, value: Any) -> None:
    """Refuses a static argument that can't be part of a key."""
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"{transform}: the static argument {argument_name(function, which)} of "
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
    known = [p for p in parameters(function)]
    names = [p.name for p in known if p.kind in _POSITIONAL]
    rest = next((p.name for p in known if p.kind is p.VAR_POSITIONAL), "args")
    paths = []
    places = list(positions) if positions is not None else range(len(args))
    for i, arg in zip(places, args, strict=True):
        stem = names[i] if i < len(names) else f"{rest}[{i - len(names)}]"
        paths += [stem + keystr(path) for path, _ in tree_flatten_with_path(arg)[0]]
    for key in sorted(kwargs):
        paths += [key + keystr(path) for path, _ in tree_flatten_with_path(kwargs[key])[0]]
    return paths


def argument_values(
    transform: str, function: Any, leaves: Sequence[Any], paths: Callable[[], list[str]]
) -> list[Any]:
    """The leaves as values; what can't be one is an error that names the argument."""
    values = []
    for i, leaf in enumerate(leaves):
        if leaf.__class__ is Array or isinstance(leaf, Value):
            if isinstance(leaf, Tracer) and leaf._trace.has_ended():
                raise leaked(leaf._trace, f"{transform}: argument {paths()[i]}", leaf)
            values.append(leaf)
            continue
        try:
            values.append(as_value(leaf))
        except (TypeError, ValueError) as error:
            raise noted(
                TypeError(
                    f"{transform}: argument {paths()[i]} of {function_line(function)} must be an "
                    f"array or a scalar; got {_what_it_is(transform, leaf, error)}"
                )
            ) from None
    return values


WITH_STATIC = frozenset(("jit", "pmap", "checkpoint", "make_jaxpr", "xla_computation"))
"""The transformations that have static arguments."""


def _what_it_is(transform: str, leaf: Any, error: Exception) -> str:
    """The end of a message for an argument that is no array: what it is, and what to do."""
    kind = type(leaf)
    if callable(leaf) and hasattr(leaf, "__name__"):
        found = f"{kind.__name__} {function_line(leaf)}"
    elif getattr(kind, "__repr__", None) is object.__repr__:
        found = kind.__name__
    else:
        found = f"{kind.__name__} {leaf!r:.60}"
    static = "bind it with functools.partial"
    if transform in WITH_STATIC:
        static = "mark it static with static_argnums or static_argnames"
    elif transform in ("custom_jvp", "custom_vjp"):
        static = "name its position in nondiff_argnums"
    if hasattr(leaf, "dtype"):  # of NumPy's or another library's
        return f"{found} ({error})\n  fix: convert it, or {static}"
    if kind.__module__ == "builtins" or isinstance(leaf, (Enum, type)) or callable(leaf):
        return f"{found}\n  fix: convert it, {static}, or close over it"
    return (
        f"{found}\n  fix: {static}, or weft.tree_util.register_dataclass({kind.__name__}) if its "
        "fields hold arrays"
    )


def argument_avals(
    transform: str, function: Any, leaves: Sequence[Any], paths: Callable[[], list[str]]
) -> list[Aval]:
    """The avals of leaves that are arrays, scalars, or have a shape and a dtype."""
    avals = []
    for i, leaf in enumerate(leaves):
        try:
            avals.append(shaped_aval(leaf))
        except (TypeError, ValueError) as error:
            raise noted(
                TypeError(
                    f"{transform}: argument {paths()[i]} of {function_line(function)} must be an "
                    "array, a scalar, or have a shape and a dtype; got "
                    f"{_what_it_is(transform, leaf, error)}"
                )
            ) from None
    return avals


def shaped_aval(x: Any) -> Aval:
    """The aval of an array, of a scalar, or of anything with a shape and a dtype."""
    if isinstance(x, Value):
        return x.aval
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return aval(
            tuple(x.shape),
            dtypes.canonicalize_dtype(x.dtype),
            bool(getattr(x, "weak_type", False)),
        )
    return as_value(x).aval


def output_values(transform: str, function: Any, leaves_with: Any) -> list[Any]:
    """The leaves of a function's result as values; anything else is an error."""
    values = []
    for i, leaf in enumerate(leaves_with):
        if isinstance(leaf, Value):
            values.append(leaf)
            continue
        try:
            values.append(as_value(leaf))
        except (TypeError, ValueError):
            raise noted(
                ShapeError(
                    f"{transform}: {function_line(function)} must return arrays, scalars or "
                    f"containers of them; leaf {i} of its result is a {type(leaf).__name__}: "
                    f"{leaf!r:.60}\n"
                    "  fix: return arrays only; what isn't an array can leave through has_aux or "
                    "a separate function"
                )
            ) from None
    return values
