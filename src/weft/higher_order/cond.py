"""The cond primitive: apply the one of several jaxprs that an index names.

`cond` and `switch` are both this. The branches have the same inputs and outputs.
"""

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..compiler.dead_code import jaxpr_calls_host
from ..compiler.lower import lower_jaxpr
from ..core.array import Array, as_value
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, Var, named_axes, run
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.trace import current
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.callbacks import TOKEN, token_of
from ..primitives.comparison import eq
from ..primitives.selection import guard, select_n
from ..primitives.structural import broadcast_in_dim, zeros
from .call import call_jaxpr
from .in_turn import in_turn, must_take_turns
from .jaxprs import (
    Mask,
    active,
    batch_partly,
    depends,
    either,
    filled,
    inactive,
    jvp_jaxpr,
    linearize_jaxpr,
    run_now,
    spread,
    transpose_jaxpr,
)

cond = HigherOrder("cond", "Applies the branch that its first operand, an index in range, names.")


def apply_cond(branches: Sequence[Jaxpr], index: Any, operands: Sequence[Any]) -> list[Any]:
    """Applies branches to operands under the current trace; their constants become operands."""
    consts: list[Any] = [c for b in branches for c in b.consts]
    if consts:
        branches = with_common_inputs(branches)
    params = (("branches", tuple(branches)),)
    return current.trace.bind(cond, [index, *consts, *operands], params)  # type: ignore[no-any-return]


def with_common_inputs(branches: Sequence[Jaxpr]) -> list[Jaxpr]:
    """The branches with the constants of all of them as inputs in front."""
    opened = []
    for n, b in enumerate(branches):  # by number: two branches may be one program
        in_front = [
            v if m == n else Var(v.aval) for m, one in enumerate(branches) for v in one.constvars
        ]
        opened.append(Jaxpr([], [], [*in_front, *b.invars], b.equations, b.outvars, b.name))
    return opened


@cond.type
def _(index: Aval, *avals: Aval, branches: tuple[Jaxpr, ...]) -> Any:
    return [
        outs[0].update(weak_type=all(o.weak_type for o in outs))
        for outs in zip(*[b.out_avals for b in branches], strict=True)
    ]


@cond.execute
def _(args: Any, *, branches: tuple[Jaxpr, ...]) -> Any:
    return run_now(branches[int(args[0].host())], args[1:])


@cond.unfold
def _(args: Any, *, branches: tuple[Jaxpr, ...]) -> Any:
    index = int(args[0].host())
    yield branches[index], args[1:], range(1, len(args)), f"branch {index} of cond"


@cond.lower
def _(block: Any, index: Any, *operands: Any, out: Any, branches: tuple[Jaxpr, ...]) -> Any:
    calls = any(map(jaxpr_calls_host, branches))
    token = token_of(block) if calls else None

    def write(inner: Any, branch: Jaxpr) -> list[Any]:
        inner.token = token
        outs = lower_jaxpr(inner, branch, operands)
        return [*outs, inner.token] if calls else outs

    regions = [block.region((), lambda inner, _, b=b: write(inner, b)) for b in branches]
    if not calls:
        return block.op("case", index, out=out, regions=regions)
    *outs, block.token = block.op("case", index, out=[*out, TOKEN], regions=regions)
    return outs


@cond.depends
def _(mask: Mask, inexact: bool, *, branches: tuple[Jaxpr, ...]) -> Any:
    if mask[0]:
        return (True,) * len(branches[0].outvars)
    return union(depends(b, mask[1:], inexact) for b in branches)


def union(masks: Any) -> Mask:
    """What any of the masks names."""
    found, *rest = masks
    for mask in rest:
        found = either(found, mask)
    return tuple(found)


@cond.pushforward
def _(mask: Mask, avals: Sequence[Aval], *, branches: tuple[Jaxpr, ...]) -> Any:
    inner = mask[1:]
    out_mask = union(jvp_jaxpr(b, inner)[1] for b in branches)
    pushed = [jvp_jaxpr(b, inner, out_mask)[0] for b in branches]
    tangents = [a.strong() for a in active(avals, mask)]
    program = stage(
        lambda *args: apply_cond(pushed, args[0], args[1:]), [*avals, *tangents], name="cond_jvp"
    )
    return program, out_mask


class Residuals:
    """What the branches keep: each its own, in slots that they share where types are equal.

    Only one branch runs, so a slot holds what that branch keeps, or zeros. What is an operand
    already is not kept again.
    """

    def __init__(self) -> None:
        self.operands: list[int] = []
        self.slots: list[Aval] = []

    def place(self, branch: Jaxpr, atoms: Sequence[Any]) -> list[tuple[str, Any]]:
        """Where each residual of a branch is: ("operand", n), ("slot", n) or ("value", array)."""
        inputs = {v: i for i, v in enumerate(branch.invars)}
        free = list(range(len(self.slots)))
        places: list[tuple[str, Any]] = []
        for atom in atoms:
            if type(atom) is not Var:
                places.append(("value", atom))
                continue
            if atom in inputs:
                i = inputs[atom]
                if i not in self.operands:
                    self.operands.append(i)
                places.append(("operand", self.operands.index(i)))
                continue
            aval = atom.aval.strong()
            slot = next((s for s in free if self.slots[s] is aval), None)
            if slot is None:
                slot = len(self.slots)
                self.slots.append(aval)
            else:
                free.remove(slot)
            places.append(("slot", slot))
        return places


def all_branches(branches: Sequence[Jaxpr], index: Any, operands: Sequence[Any]) -> list[Any]:
    """The results of the branch that `index` names, where all are computed.

    This is what a branch means that has collectives inside, if elements (of a batch, or devices) go
    different ways: those that take another one lend their values to it.
    """
    cases = [run(b, operands, current.trace) for b in branches]
    return [select_n(index, *each) for each in zip(*cases, strict=True)]


@cond.linearize
def _(mask: Mask, avals: Sequence[Aval], *, branches: tuple[Jaxpr, ...]) -> Any:
    if any(map(named_axes, branches)):
        # an element has a part in the derivative of a branch that it lent its values to
        whole = stage(lambda index, *xs: all_branches(branches, index, xs), avals, name="cond")
        forward_all, linear_all, there = linearize_jaxpr(whole, mask)
        if not any(there):
            return None
        return Derivative(mask, forward_all, len(whole.outvars), there, linear_all)
    parts = [linearize_jaxpr(b, mask[1:]) for b in branches]
    out_mask = union(part[-1] for part in parts)
    if not any(out_mask):
        return None
    n_outs = len(out_mask)
    out_avals = branches[0].out_avals
    kept = Residuals()
    places = [kept.place(forward, forward.outvars[n_outs:]) for forward, _, _ in parts]
    n_slots, n_kept = len(kept.slots), len(kept.slots) + len(kept.operands)

    def keeping(forward: Jaxpr, where: Any) -> Jaxpr:
        def branch(*xs: Any) -> list[Any]:
            outs = run(forward, xs, current.trace)
            slots: list[Any] = [None] * n_slots
            for value, (kind, at) in zip(outs[n_outs:], where, strict=True):
                if kind == "slot":
                    slots[at] = value
            full = [zeros(a) if s is None else s for s, a in zip(slots, kept.slots, strict=True)]
            return [*outs[:n_outs], *full]

        return stage(branch, avals[1:], name=forward.name)

    forwards = [keeping(f, where) for (f, _, _), where in zip(parts, places, strict=True)]

    def forward(index: Any, *operands: Any) -> list[Any]:
        outs = apply_cond(forwards, index, operands)
        return [*outs, index, *[operands[i] for i in kept.operands]]

    def linear_branch(linear: Jaxpr, there: Mask, where: Any) -> Jaxpr:
        linear, _ = filled(linear, 0, there, out_mask, out_avals)

        def branch(*xs: Any) -> list[Any]:
            known: dict[str, Any] = {"slot": xs[:n_slots], "operand": xs[n_slots:n_kept]}
            residuals = [at if kind == "value" else known[kind][at] for kind, at in where]
            return run(linear, [*residuals, *xs[n_kept:]], current.trace)

        return stage(branch, [*kept_avals, *tangents], name=linear.name)

    kept_avals = [*kept.slots, *[avals[1 + i] for i in kept.operands]]
    tangents = [a.strong() for a in active(avals, mask)]
    linears = [
        linear_branch(linear, there, where)
        for (_, linear, there), where in zip(parts, places, strict=True)
    ]

    def push(*args: Any) -> list[Any]:
        slots, index, rest = args[:n_slots], args[n_slots], args[n_slots + 1 :]
        return apply_cond(linears, index, [*slots, *rest])

    return Derivative(
        mask,
        stage(forward, avals, name="cond"),
        n_outs,
        out_mask,
        stage(push, [*kept.slots, avals[0], *kept_avals[n_slots:], *tangents], name="cond_linear"),
    )


@cond.transpose
def _(cts: Any, index: Any, *args: Any, branches: tuple[Jaxpr, ...]) -> Any:
    linear = tuple(type(a) is Aval for a in args)
    known = tuple(ct is not None for ct in cts)
    nonzero = union(transpose_jaxpr(b, linear, known)[1] for b in branches)
    backs = [transpose_jaxpr(b, linear, known, nonzero)[0] for b in branches]
    given = [*inactive(args, linear), *[ct for ct in cts if ct is not None]]
    return [None, *spread(apply_cond(backs, index, given), nonzero)]


@cond.batch
def _(args: Any, batched: Any, axis: Axis, *, branches: tuple[Jaxpr, ...]) -> Any:
    index, *operands = args
    index_batched, *inner = batched
    if index_batched and must_take_turns("cond", branches, axis):
        return in_turn(
            lambda index, *xs: apply_cond(branches, index, xs),
            args, batched, axis.size, branches[0].cache, branches,
        )  # fmt: skip
    if index_batched:  # all branches, and of each element the one that it names
        for k, x in enumerate(operands):  # to be guarded too; larger ones would take much memory
            if not inner[k] and not x.ndim and may_have_derivative(x):
                operands[k] = broadcast_in_dim(x, shape=(axis.size,), dims=())
                inner[k] = True
        which = union(batch_partly(b, inner, axis)[1] for b in branches)
        mapped = [batch_partly(b, inner, axis, which)[0] for b in branches]
        results = []
        for i, b in enumerate(mapped):
            meets = axis.name in named_axes(branches[i])  # see `all_branches`
            xs = [
                guarded(x, index, i) if one and not meets else x
                for x, one in zip(operands, inner, strict=True)
            ]
            written_out = len(b.equations) <= WRITTEN_OUT
            results.append(run(b, xs, current.trace) if written_out else call_jaxpr(b, xs))
        return [chosen(index, cases, b) for *cases, b in zip(*results, which, strict=True)]
    which = union(batch_partly(b, inner, axis)[1] for b in branches)
    mapped = [batch_partly(b, inner, axis, which)[0] for b in branches]
    outs = apply_cond(mapped, index, operands)
    return [o if b else Shared(o) for o, b in zip(outs, which, strict=True)]


# Equations of a branch that are written out where all branches are done. Longer ones become calls:
# or what is nested would be copied at every level, and doubled if both branches have it.
WRITTEN_OUT = 16


def may_have_derivative(x: Any) -> bool:
    return dtypes.is_inexact(x.dtype) and x.__class__ is not Array


def guarded(x: Any, index: Any, i: int) -> Any:
    """A branch's operand, through which no derivative comes back from elements that took another
    branch: it may be NaN there, and NaN times the zero that such a result counts for is NaN."""
    if not may_have_derivative(x):
        return x
    taken = broadcast_in_dim(eq(index, as_value(index.dtype.type(i))), shape=x.shape, dims=(0,))
    return guard(taken, x)


def chosen(index: Any, cases: Sequence[Any], batched: bool) -> Any:
    """For each element of the batch, the case that its index names."""
    if not batched:
        cases = [
            broadcast_in_dim(c, shape=(index.shape[0], *c.shape), dims=tuple(range(1, c.ndim + 1)))
            for c in cases
        ]
    shape = cases[0].shape
    return select_n(broadcast_in_dim(index, shape=shape, dims=(0,)), *cases)
