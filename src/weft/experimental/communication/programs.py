"""Finds the collectives of a compiled program in its HLO text."""

import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from .costs import KINDS, Collective
from .device_groups import axes_of, axes_of_pairs, integers, parse_groups, parse_pairs

__all__ = ["collectives"]

Array = tuple[str, tuple[int, ...]]

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.-]+) .*\{$")
_OPERATION = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = ")
_CALLED = re.compile(
    r"\b(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.-]+)"
    r"|\b(?:branch_computations|called_computations)=\{([^}]*)\}"
)
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_ARRAY = re.compile(r"([a-z]\w*)\[([^\]]*)\]")


def collectives(program: Any, mesh: Any = None) -> list[Collective]:
    """The exchanges between devices that a compiled program makes, in the order of its text.

    A collective in a `scan` of 12 steps counts 12 times. All branches of a conditional count.
    Asynchronous pairs (`all-reduce-start`, `all-reduce-done`) are one exchange.

    Args:
      program: the result of `jit(f).lower(…).compile()`, or its HLO text.
      mesh: the `Mesh` of the program's devices, or a dict of its axis lengths. If given, each
        collective has the mesh `axes` along which it communicates.
    Raises: TypeError: `program` is not text and has no `as_text()`. ValueError: the text is not HLO
      after optimisation.
    Example:
      >>> text = '''HloModule sum, num_partitions=8
      ... ENTRY %main (x: f32[4,2]) -> f32[4,2] {
      ...   %x = f32[4,2]{1,0} parameter(0)
      ...   ROOT %y = f32[4,2]{1,0} all-reduce(%x), replica_groups=[2,4]<=[8], to_apply=%add
      ... }'''
      >>> for c in collectives(text, {"data": 2, "model": 4}):
      ...     print(c)
      all-reduce of f32[4,2] among 4 devices along model: 48 B sent
    Source: the operations of XLA's documentation, "Operation semantics".
    """
    text = program if isinstance(program, str) else getattr(program, "as_text", lambda: None)()
    if not isinstance(text, str):
        raise TypeError(
            "collectives: expected a compiled program, or its text; got "
            f"{type(program).__name__}\n  fix: pass jit(f).lower(…).compile()"
        )
    bodies, entry = computations(text)
    if entry is None:
        raise ValueError(
            "collectives: expected the HLO text of a compiled program, which has an ENTRY; got "
            f"{text[:60]!r}\n  fix: pass jit(f).lower(…).compile(), not jit(f).lower(…)"
        )
    count = 1
    for name in ("num_partitions", "replica_count"):
        if match := re.search(rf"\b{name}=(\d+)", text.partition("\n")[0]):
            count *= int(match[1])
    sizes = getattr(mesh, "shape", mesh)
    return list(_visit(bodies, entry, count, sizes, times=1, counted=True))


def computations(text: str) -> tuple[dict[str, list[str]], str | None]:
    """The lines of operations of each computation, by name, and the name of the entry
    computation."""
    bodies: dict[str, list[str]] = {}
    entry, lines = None, None
    for line in text.splitlines():
        if lines is None:
            if match := _COMPUTATION.match(line):
                lines = bodies.setdefault(match[2], [])
                entry = match[2] if match[1] else entry
        elif line.startswith("}"):
            lines = None
        else:
            lines.append(line)
    return bodies, entry


def _visit(
    bodies: dict[str, list[str]],
    name: str,
    count: int,
    mesh: Mapping[Hashable, int] | None,
    times: int,
    counted: bool,
) -> Iterator[Collective]:
    """The collectives of a computation and of the computations that it calls."""
    for line in bodies.get(name, ()):
        head = _OPERATION.match(line)
        if head is None:
            continue
        result, kind, attributes = split_operation(line[head.end() :])
        base = kind.removesuffix("-start")
        if base in KINDS:
            arrays = results(result, base, kind != base)
            yield _collective(base, arrays, attributes, count, mesh, times, counted, head[1])
            continue  # a reduction calls a computation for two numbers
        inner, inner_counted = times, counted
        if kind == "while":
            trips = _TRIPS.search(attributes)
            inner, inner_counted = (times * int(trips[1]), counted) if trips else (times, False)
        for one, several in _CALLED.findall(attributes):
            for called in [one] if one else re.findall(r"[\w.-]+", several):
                yield from _visit(bodies, called, count, mesh, inner, inner_counted)


def _collective(
    kind: str,
    arrays: tuple[Array, ...],
    attributes: str,
    count: int,
    mesh: Mapping[Hashable, int] | None,
    times: int,
    counted: bool,
    name: str,
) -> Collective:
    origin = re.search(r'op_name="([^"]*)"', attributes)
    _, listed, pairs_text = attributes.partition("source_target_pairs=")
    pairs = parse_pairs(pairs_text) if listed else ()
    _, _, groups_text = attributes.partition("replica_groups=")
    groups = () if listed else parse_groups(groups_text or "{}", count)
    axes = None
    if mesh is not None:
        axes = axes_of_pairs(mesh, pairs) if listed else axes_of(mesh, groups)
    return Collective(
        kind, arrays, groups, pairs, axes, times, counted, name, origin[1] if origin else ""
    )


# --- the text of an operation: `f32[4]{0} all-reduce(%x), attributes` ---


def split_operation(text: str) -> tuple[str, str, str]:
    """The result type, the name of the operation, and all text after the operands."""
    at = closing(text, 0) + 1 if text.startswith("(") else text.find(" ")
    result, rest = text[:at], text[at:].lstrip()
    kind, _, _ = rest.partition("(")
    return result, kind, rest[closing(rest, len(kind)) + 1 :]


def closing(text: str, at: int) -> int:
    """The position of the parenthesis that closes the one at `start`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text) - 1


def results(result: str, kind: str, started: bool) -> tuple[Array, ...]:
    """The arrays that a device has after a collective.

    An operation that only starts one has the type (inputs, outputs, …); but for an
    all-reduce, where both are the same, the type of the outputs.
    """
    if started and kind != "all-reduce":
        result = elements(result)[1]
    return tuple(
        (dtype, tuple(integers(lengths)))
        for dtype, lengths in _ARRAY.findall(without_layout(result))
    )


def elements(result: str) -> list[str]:
    """The elements of a tuple's type."""
    parts, depth, begun = [], 0, 1
    for i, c in enumerate(result):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(c, 0)
        if (c == "," and depth == 1) or (c == ")" and depth == 0):
            parts.append(result[begun:i])
            begun = i + 1
    return parts


def without_layout(result: str) -> str:
    """A type without its memory layout: `f32[4,2]` for `f32[4,2]{1,0:T(8,128)}`."""
    return re.sub(r"\{[^}]*\}|/\*[^*]*\*/", "", result)
