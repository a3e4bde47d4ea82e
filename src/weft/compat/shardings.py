"""JAX's shardings in terms of weft's: parameters `out_sharding`, types of mesh axes, and the
current mesh. weft's array types have no shardings. So a sharding in a program is a constraint on
the value, and XLA treats all axes of a mesh alike, whatever their declared types.
"""

import enum
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ..lax import with_sharding_constraint as weft_constraint
from ..scope import MESH, in_scope
from ..sharding import NO_MESH, Mesh as WeftMesh, NamedSharding, PartitionSpec
from ..transforms.devices.devices import make_mesh as weft_make_mesh
from ..transforms.jit.shardings import is_entry
from ..tree_util import tree_map
from ..user_lines import noted
from .stand_ins import Standing

OUT_SHARDING = {
    "jax.numpy": """
        arange array asarray bincount broadcast_to dot einsum empty full full_like matmul ones
        ones_like percentile ravel repeat reshape tensordot zeros zeros_like
    """,
    "jax.numpy.linalg": "tensordot",
    "jax.lax": """
        broadcast broadcast_in_dim broadcasted_iota conv_general_dilated dot dot_general empty
        ragged_dot ragged_dot_general reduce reshape rng_bit_generator
    """,
    "jax.random": """
        ball bernoulli beta bits categorical cauchy chisquare dirichlet exponential f gamma
        generalized_normal geometric gumbel laplace loggamma logistic lognormal maxwell
        multivariate_normal normal orthogonal pareto permutation poisson rademacher randint
        rayleigh t triangular truncated_normal uniform wald
    """,
    "jax.nn.initializers": "ones zeros",
}
"""The functions of JAX 0.10 that take `out_sharding=`, by module."""


def taking_out_sharding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds a parameter `out_sharding` to a function, which constrains its result."""

    @functools.wraps(function)
    def constrained(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        of_type = isinstance(out_sharding, NamedSharding) and out_sharding.mesh.empty
        if out_sharding is None or of_type:  # the sharding of a type has no information
            return out
        return with_sharding_constraint(out, out_sharding)

    return constrained


def out_sharding_names(module: str, weft_module: ModuleType) -> dict[str, Any]:
    """The functions of a module that take `out_sharding=`."""
    return {
        name: taking_out_sharding(getattr(weft_module, name))
        for name in OUT_SHARDING[module].split()
        if hasattr(weft_module, name)
    }


class AxisType(enum.Enum):
    """The types of mesh axes. XLA treats axes of all types like `Auto` axes."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class TypedMesh(WeftMesh):
    """A mesh whose axes have types, with axis sizes by name."""

    axis_types: tuple[AxisType, ...]

    def __init__(self, devices: object, axis_names: Any, axis_types: Any = None) -> None:
        super().__init__(devices, axis_names)
        types = axis_types
        if types is None or isinstance(types, AxisType):
            types = (types or AxisType.Auto,) * len(self.axis_names)
        if isinstance(types, Mapping):  # as of 2024: type -> names
            kinds = {name: kind for kind, names in types.items() for name in _names(names)}
            types = [kinds.get(name, AxisType.Auto) for name in self.axis_names]
        if len(types) != len(self.axis_names):
            raise ValueError(
                f"Mesh: expected one type for each of the axes {self.axis_names}; got {types}"
            )
        self.axis_types = tuple(types)

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """The length of each axis."""
        return tuple(self.devices.shape[: len(self.axis_names)])

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """(name, length) of each axis."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        """The mesh without its devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def axes_of(self, kind: AxisType) -> tuple[Any, ...]:
        """The names of the axes with a type."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, axis_type in pairs if axis_type is kind)

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """The axes of type `Auto`."""
        return self.axes_of(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The axes declared `Explicit`."""
        return self.axes_of(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        """The axes declared `Manual`."""
        return self.axes_of(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """True if all axes were declared `Auto`, or without a type."""
        return len(self.auto_axes) == len(self.axis_names)

    @property
    def are_all_axes_explicit(self) -> bool:
        """True if all axes were declared `Explicit`."""
        return bool(self.axis_names) and len(self.explicit_axes) == len(self.axis_names)

    @property
    def are_all_axes_manual(self) -> bool:
        """True if all axes were declared `Manual`."""
        return bool(self.axis_names) and len(self.manual_axes) == len(self.axis_names)


class AbstractMesh(TypedMesh):
    """Names and lengths of the axes of a mesh, without devices.

    A sharding over it means a sharding over the mesh in scope, which must have its axes.

    Args:
      axis_sizes: the length of each axis; or, as of 2024, pairs (name, length).
      axis_names: the name of each axis.
      axis_types: the type of each axis.
    """

    def __init__(
        self,
        axis_sizes: Sequence[Any],
        axis_names: Any = None,
        axis_types: Any = None,
        *,
        abstract_device: object = None,
    ) -> None:
        if axis_names is None or isinstance(axis_names, Mapping):
            axis_types = axis_names if axis_types is None else axis_types
            axis_names = [name for name, _ in axis_sizes]
            axis_sizes = [size for _, size in axis_sizes]
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        device_numbers = np.arange(math.prod(axis_sizes)).reshape(axis_sizes) if names else ()
        super().__init__(device_numbers, names, axis_types)

    def update(
        self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None
    ) -> "AbstractMesh":
        """The mesh with other sizes, names or types."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def update_axis_types(self, name_to_type: Mapping[Any, AxisType]) -> "AbstractMesh":
        """The mesh with other types of some axes."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple(name_to_type.get(n, kind) for n, kind in pairs))

    def __repr__(self) -> str:
        sizes = "".join(f"{name!r}: {size}, " for name, size in self.shape_tuple)
        types = ", ".join(kind.name for kind in self.axis_types)
        comma = "," if len(self.axis_types) == 1 else ""
        return f"AbstractMesh({sizes or '(), '}axis_types=({types}{comma}))"


class Mesh(TypedMesh, metaclass=Standing, of=(WeftMesh,), but=(AbstractMesh,)):
    """A mesh of devices. Every weft mesh is an instance."""


def _names(names: Any) -> tuple[Any, ...]:
    return tuple(names) if isinstance(names, (tuple, list)) else (names,)


def make_mesh(
    axis_shapes: Any, axis_names: Any, axis_types: Any = None, *, devices: Any = None
) -> TypedMesh:
    """`weft.make_mesh`, for a mesh whose axes have types."""
    mesh = weft_make_mesh(axis_shapes, axis_names, devices=devices)
    return Mesh(mesh.devices, mesh.axis_names, axis_types)


class set_mesh:
    """`jax.set_mesh(mesh)`: sets the mesh of specs, from now on or in a `with` block."""

    def __init__(self, mesh: Any) -> None:
        self.mesh = mesh
        if mesh is not None:
            mesh.__enter__()

    def __enter__(self) -> Any:
        return self.mesh

    def __exit__(self, *error: object) -> None:
        if self.mesh is not None:
            self.mesh.__exit__(*error)


class use_abstract_mesh(set_mesh):
    """A context in which `get_abstract_mesh` returns this mesh. Specs refer to the surrounding
    mesh."""


NO_MESH_AT_ALL = Mesh(NO_MESH.devices, NO_MESH.axis_names)


def get_mesh() -> Any:
    """The mesh of the surrounding `with` block, or an empty one."""
    return in_scope(MESH) or NO_MESH_AT_ALL


class NoMesh(TypedMesh):
    """No mesh, as of 2024: its devices are an array without axes."""

    empty = True

    def __init__(self) -> None:
        super().__init__(np.empty((), object), ())


class Environment:
    """The mesh of the surrounding `with` block, as in JAX of 2024: `thread_resources.env`."""

    @property
    def physical_mesh(self) -> Any:
        """The mesh, or an empty one."""
        return in_scope(MESH) or NoMesh()


thread_resources = SimpleNamespace(env=Environment())


def get_abstract_mesh() -> AbstractMesh:
    """The mesh of the surrounding `with` block, without its devices."""
    mesh = get_mesh()
    if isinstance(mesh, AbstractMesh):
        return mesh
    sizes = mesh.devices.shape[: len(mesh.axis_names)]
    return AbstractMesh(sizes, mesh.axis_names, getattr(mesh, "axis_types", None))


def concrete(sharding: Any) -> Any:
    """The sharding; one over an abstract mesh becomes one over the mesh in scope.

    Without a mesh in scope there are no devices to divide an array among: `None`.
    """
    if not isinstance(sharding, NamedSharding) or not isinstance(sharding.mesh, AbstractMesh):
        return sharding
    mesh = get_mesh()
    if isinstance(mesh, AbstractMesh) or mesh.empty:
        return None
    return NamedSharding(mesh, sharding.spec)


def canonicalize_sharding(sharding: Any, api_name: str, check_mesh_consistency: bool = True) -> Any:
    """The sharding; None if it has no mesh, and for a spec one over the mesh in scope."""
    if isinstance(sharding, PartitionSpec):
        mesh = get_abstract_mesh()
        if mesh.empty:
            raise noted(
                ValueError(
                    f"{api_name}: {sharding} needs a mesh, and none is in scope\n"
                    "  fix: with jax.set_mesh(mesh); or a NamedSharding"
                )
            )
        return NamedSharding(mesh, sharding)
    return None if isinstance(sharding, NamedSharding) and sharding.mesh.empty else sharding


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """`weft.lax.with_sharding_constraint` that also accepts shardings over abstract meshes."""
    return weft_constraint(x, tree_map(concrete, shardings, is_leaf=is_entry))


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Constrains values to shardings, like `lax.with_sharding_constraint`."""
    return with_sharding_constraint(xs, out_shardings)


def auto_axes(
    f: Callable[..., Any] | None = None, /, *, axes: Any = None, out_sharding: Any = None
) -> Any:
    """A function whose results have these shardings. XLA chooses the shardings inside."""
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    function = f

    @functools.wraps(function)
    def divided(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        return out if out_sharding is None else with_sharding_constraint(out, out_sharding)

    return divided


def explicit_axes(
    f: Callable[..., Any] | None = None, /, *, axes: Any = None, in_sharding: Any = None
) -> Any:
    """A function whose arguments are constrained to these shardings."""
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    function = f

    @functools.wraps(function)
    def divided(*args: Any, in_sharding: Any = in_sharding, **kwargs: Any) -> Any:
        if in_sharding is not None:
            args = with_sharding_constraint(args, in_sharding)
        return function(*args, **kwargs)

    return divided
