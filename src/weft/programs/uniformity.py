"""Divergence analysis: finds the branches and loops in which the devices of a mesh may diverge.

Each device takes its own path through branches and loops. If a branch contains a collective, or a
map over further devices, and only some devices reach it, these wait forever. So where a branch
index may differ among devices that communicate in the branch, each device computes all branches and
selects one. Such a loop continues until it has ended on all devices, as under `vmap`.

A program is changed when it is lowered. The analysis follows, for each value, the set of mesh axes
along which it varies. Higher-order primitives take part by their rules `vary` and `keep_uniform`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..compiler.simplify import jaxpr_calls_host
from ..core.jaxpr import Atom, Equation, Jaxpr, Var, subjaxprs

VaryingAxes = frozenset[Any]  # axes of the mesh
UNIFORM: VaryingAxes = frozenset()
MappedAxes = Sequence[tuple[Any, Any, int]]  # (the mesh axis, its name inside the map, its size)


class Hidden:
    """An axis name that collectives inside cannot use, since the map renamed the axis."""

    __slots__ = ("axis",)

    def __init__(self, axis: object) -> None:
        """
        Args:
          axis: its name in the mesh.
        """
        self.axis = axis

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and self.axis == other.axis

    def __hash__(self) -> int:
        return hash((Hidden, self.axis))

    def __repr__(self) -> str:
        return f"{self.axis!r} (outside)"


class Scope(NamedTuple):
    """The maps over devices around an operation.

    Attributes:
      names: the mesh axis for each name.
      entered: the axes along which the program is written for one device.
    """

    names: tuple[tuple[Any, Any], ...] = ()
    entered: VaryingAxes = UNIFORM

    def enter(self, axes: MappedAxes) -> "Scope":
        """The scope inside a map over `axes`."""
        new_names = {name: axis for axis, name, _ in axes}
        names = {**dict(self.names), **new_names}
        return Scope(tuple(names.items()), self.entered.union(new_names.values()))

    def axes(self, names: Sequence[object]) -> VaryingAxes:
        """The mesh axes of the names."""
        mesh_axes = dict(self.names)
        return frozenset(mesh_axes[name] for name in names)

    def name(self, axis: object) -> Any:
        """The name by which collectives refer to a mesh axis."""
        for name, meant in self.names:
            if meant == axis:
                return name
        return Hidden(axis)


class Divergence:
    """The analysis of one program for the devices of a mesh.

    Args:
      sizes: the sizes of the mesh's axes.
      scope: the maps over devices around the programs that are passed to the methods.
    """

    def __init__(self, sizes: dict[Any, int], scope: Scope) -> None:
        self.sizes, self.scope = sizes, scope
        self.everywhere: VaryingAxes = frozenset(sizes)
        self._variation: dict[Any, list[VaryingAxes]] = {}
        self._communication: dict[Any, VaryingAxes] = {}

    def enter(self, axes: MappedAxes) -> "Divergence":
        """The analysis inside a map over further devices."""
        inner = Divergence(self.sizes, self.scope.enter(axes))
        inner._variation, inner._communication = self._variation, self._communication
        return inner

    # --- values that vary ---

    def vary(self, jaxpr: Jaxpr, ins: Sequence[VaryingAxes]) -> list[VaryingAxes]:
        """The axes along which each output of a program varies."""
        key = jaxpr, tuple(ins), self.scope
        if key not in self._variation:
            env = Env(jaxpr, ins)
            for e in jaxpr.equations:
                env.update(zip(e.outvars, self.results(e, env.of(e.inputs)), strict=True))
            self._variation[key] = env.of(jaxpr.outvars)
        return self._variation[key]

    def results(self, e: Equation, ins: Sequence[VaryingAxes]) -> Sequence[VaryingAxes]:
        """The axes along which each result of an equation varies."""
        primitive = e.primitive
        if primitive.inside is not None and primitive.inside.vary is not None:
            return primitive.inside.vary(ins, self, **dict(e.params))
        every = UNIFORM.union(*ins)
        collective, effects = primitive.collective, primitive.effects
        if collective is not None and collective.rule is not None:
            params = dict(e.params)
            named = self.scope.axes(params["axes"])
            equal = collective.equal_results and params["groups"] is None
            return [every - named if equal else every | named]
        acts = effects is not None and effects.acts
        return [every | self.scope.entered if acts else every] * len(e.outvars)

    # --- communication ---

    def communication(self, jaxpr: Jaxpr) -> VaryingAxes:
        """The axes along which devices communicate in a program."""
        key = jaxpr, self.scope
        axes = self._communication.get(key)
        if axes is None:
            axes = UNIFORM
            for e in jaxpr.equations:
                collective = e.primitive.collective
                if collective is None or not collective.communicates:
                    axes = axes.union(*map(self.communication, subjaxprs(e.params)))
                elif collective.rule is not None:
                    axes |= self.scope.axes(dict(e.params)["axes"])
                else:
                    axes = self.everywhere  # XLA moves parts between any devices
            self._communication[key] = axes
        return axes

    def diverging(self, e: Equation, varies: VaryingAxes, jaxprs: Sequence[Jaxpr]) -> VaryingAxes:
        """The axes along which devices that communicate in `jaxprs` would diverge.

        Args:
          varies: the axes along which the index or condition of `e` varies.
        """
        if not varies:
            return UNIFORM
        communicating = UNIFORM.union(*map(self.communication, jaxprs))
        calls = any(map(jaxpr_calls_host, jaxprs))
        if varies & communicating and calls:
            raise ValueError(
                f"{e.primitive}: where devices may take different branches, its functions may call "
                "the host or use collectives, not both\n"
                f"  fix: do one of the two outside of {e.primitive}"
            )
        if self.scope.entered != self.everywhere and not calls:
            communicating = self.everywhere  # arrays may be divided along other axes
        return varies & communicating

    # --- the program ---

    def keep_uniform(self, jaxpr: Jaxpr, ins: Sequence[VaryingAxes]) -> Jaxpr:
        """An equivalent program in which devices that communicate do not diverge."""
        env = Env(jaxpr, ins)
        equations = []
        for e in jaxpr.equations:
            varies = env.of(e.inputs)
            inside = e.primitive.inside
            if inside is None or inside.keep_uniform is None:
                equations.append(e)
            else:
                equations.append(inside.keep_uniform(e, varies, self))
            env.update(zip(e.outvars, self.results(e, varies), strict=True))
        if all(new is e for new, e in zip(equations, jaxpr.equations, strict=True)):
            return jaxpr
        return jaxpr.replace(equations=equations)


class Env(dict[Var, VaryingAxes]):
    """The axes along which variables vary; constants do not vary."""

    def __init__(self, jaxpr: Jaxpr, ins: Sequence[VaryingAxes]) -> None:
        super().__init__(zip(jaxpr.invars, ins, strict=True))
        self.update((v, UNIFORM) for v in jaxpr.constvars)

    def of(self, atoms: Sequence[Atom]) -> list[VaryingAxes]:
        """The axes along which each atom varies."""
        return [self[v] if isinstance(v, Var) else UNIFORM for v in atoms]


def with_jaxprs(e: Equation, **jaxprs: object) -> Equation:
    """The equation with other programs inside; the same equation if they are the same programs."""
    params = dict(e.params)
    if all(new is params[name] for name, new in jaxprs.items()):
        return e
    return e.replace(e.inputs, e.outvars, **jaxprs)
