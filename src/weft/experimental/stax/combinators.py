"""serial, parallel and shape_dependent, which combine layers; FanOut, FanInSum and FanInConcat,
layers between one array and several.
"""

from collections.abc import Callable
from typing import Any

from ... import numpy as np, random
from ...core.source import located
from ...errors import ShapeError
from ...numpy.axes import one_axis
from ...typing import PyTree
from .pairs import Layer, array, layer, parameters, positive, shape_of

__all__ = ["FanInConcat", "FanInSum", "FanOut", "parallel", "serial", "shape_dependent"]


def _checked(name: str, layers: Any) -> list[Layer]:
    """The layers. Raises an error for an object that is not a layer."""
    for i, pair in enumerate(layers):
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(map(callable, pair))):
            what = f"the function {pair.__name__}" if hasattr(pair, "__name__") else f"{pair!r:.60}"
            raise TypeError(
                f"{name}: expected layers, pairs (init_fun, apply_fun); argument {i} is {what}\n"
                f"  fix: {name}(Dense(10), Relu): call what makes a layer; no list of layers"
            )
    return list(layers)


def _each(name: str, argument: str, xs: Any, count: int) -> Any:
    """A list of inputs or shapes, one for each layer. Raises an error for another number."""
    if isinstance(xs, (tuple, list)) and len(xs) == count:
        return xs
    kind = f"{len(xs)}" if isinstance(xs, (tuple, list)) else f"a {type(xs).__name__}"
    raise ShapeError(
        f"{name}: expected a list of {count} for {argument}, one for each layer; got {kind}\n"
        f"  fix: FanOut({count}) before it"
    )


def _keys(rng: Any, count: int) -> Any:
    return [None] * count if rng is None or not count else random.split(rng, count)


@located
def serial(*layers: Layer) -> Layer:
    """Layers in series: the output of each is the input of the next.

    Args:
      layers: pairs (init_fun, apply_fun).
    Returns: (init_fun, apply_fun); the parameters are a list of the layers' parameters. A key for
      `apply_fun` is split among them, and other keywords go to each.
    Raises: TypeError: an argument is not a layer. ValueError: shapes, or the number of parameters,
      don't fit.
    Example:
      >>> from weft.experimental import stax
      >>> net_init, net_apply = stax.serial(stax.Flatten, stax.Dense(4), stax.Relu, stax.Dense(2))
      >>> out_shape, params = net_init(random.PRNGKey(0), (-1, 3, 3))
      >>> out_shape, net_apply(params, np.ones((5, 3, 3))).shape
      ((-1, 2), (5, 2))
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    pairs = _checked("serial", layers)

    @located
    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        params = []
        for init, _ in pairs:
            rng, key = random.split(rng)
            input_shape, param = init(key, input_shape)
            params.append(param)
        return input_shape, params

    @located
    def apply_fun(params: PyTree, inputs: Any, rng: Any = None, **kwargs: Any) -> Any:
        keys = _keys(rng, len(pairs))
        parts = zip(pairs, parameters("serial", params, len(pairs)), keys, strict=True)
        for (_, apply), param, key in parts:
            inputs = apply(param, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


@located
def parallel(*layers: Layer) -> Layer:
    """Layers side by side: each has its own input and output.

    Args:
      layers: pairs (init_fun, apply_fun).
    Returns: (init_fun, apply_fun), which take a list of shapes and a list of inputs, and return a
      tuple of shapes and a list of outputs. `FanOut` comes before, `FanInSum` or `FanInConcat`
      after. The parameters are a tuple of the layers' parameters. A key is split among them.
    Raises: TypeError: an argument is not a layer. ValueError: the number of shapes, inputs or
      parameters is not the number of layers.
    Example:
      >>> from weft.experimental import stax
      >>> wide = stax.serial(
      ...     stax.FanOut(2), stax.parallel(stax.Dense(4), stax.Identity), stax.FanInConcat())
      >>> out_shape, params = wide[0](random.PRNGKey(0), (-1, 3))
      >>> out_shape
      (-1, 7)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    pairs = _checked("parallel", layers)
    count = len(pairs)

    @located
    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        shapes = _each("parallel", "input_shape", input_shape, count)
        keys = random.split(rng, count) if count else []
        initial = [init(k, s) for (init, _), k, s in zip(pairs, keys, shapes, strict=True)]
        return tuple([shape for shape, _ in initial]), tuple([param for _, param in initial])

    @located
    def apply_fun(params: PyTree, inputs: Any, rng: Any = None, **kwargs: Any) -> Any:
        params = parameters("parallel", params, count)
        xs, keys = _each("parallel", "inputs", inputs, count), _keys(rng, count)
        parts = zip(pairs, params, xs, keys, strict=True)
        return [apply(p, x, rng=key, **kwargs) for (_, apply), p, x, key in parts]

    return init_fun, apply_fun


@located
def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer constructed from the shape of its input.

    Args:
      make_layer: maps the input's shape (a list of shapes for several inputs) to a layer.
        `init_fun` and `apply_fun` call it; in `init_fun` lengths may be -1.
    Returns: (init_fun, apply_fun), with the parameters of that layer.
    Raises: TypeError: `make_layer` is not a function, or does not return a layer.
    Example:
      >>> from weft.experimental import stax
      >>> same_width = stax.shape_dependent(lambda shape: stax.Dense(shape[-1]))
      >>> same_width[0](random.PRNGKey(0), (-1, 3))[0]
      (-1, 3)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    if not callable(make_layer):
        raise TypeError(
            f"shape_dependent: expected a function from a shape to a layer; got a "
            f"{type(make_layer).__name__}"
        )

    @located
    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        ((init, _),) = _checked("shape_dependent", [make_layer(input_shape)])
        return init(rng, input_shape)

    @located
    def apply_fun(params: PyTree, inputs: Any, rng: Any = None, **kwargs: Any) -> Any:
        ((_, apply),) = _checked("shape_dependent", [make_layer(_shapes(inputs))])
        return apply(params, inputs, rng=rng, **kwargs)

    return init_fun, apply_fun


def _shapes(inputs: Any) -> Any:
    """The shape of an array, or a list of shapes for several arrays."""
    if isinstance(inputs, (tuple, list)):
        return list(map(_shapes, inputs))
    return array("shape_dependent", inputs).shape


@located
def FanOut(num: int) -> Layer:
    """A layer that copies its input to several layers: its output is a list of `num` equal entries.

    Args:
      num: the number of copies, 1 or more.
    Returns: (init_fun, apply_fun); there are no parameters.
    Raises: ValueError: `num` isn't an int of at least 1.
    Example:
      >>> from weft.experimental import stax
      >>> stax.FanOut(2)[0](random.PRNGKey(0), (-1, 3))[0]
      [(-1, 3), (-1, 3)]
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    num = positive("FanOut", "num", num)
    return layer(
        lambda rng, input_shape: ([input_shape] * num, ()),
        lambda params, inputs: [inputs] * num,
    )


def _several(name: str, xs: Any, argument: str) -> Any:
    if isinstance(xs, (tuple, list)) and xs:
        return xs
    raise ShapeError(
        f"{name}: expected a list of at least one for {argument}; got "
        f"{'none' if isinstance(xs, (tuple, list)) else f'a {type(xs).__name__}'}"
    )


def _joined(name: str, shapes: list[tuple[int, ...]], axis: int | None) -> list[int]:
    """The lengths on which several shapes agree, except along `axis`; -1 matches any length."""
    first, *others = shapes
    agreed = list(first)
    for shape in others:
        ok = len(shape) == len(agreed)
        for a, (m, n) in enumerate(zip(agreed, shape, strict=False)):
            if a == axis or m == n or n == -1:
                continue
            ok = ok and m == -1
            agreed[a] = n
        if not ok:
            but = "" if axis is None else f", but along axis {axis}"
            raise ShapeError(f"{name}: expected one shape for all inputs{but}; got {shapes}")
    return agreed


def _sum_shape(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
    name = "FanInSum"
    shapes = [shape_of(name, s) for s in _several(name, input_shape, "input_shape")]
    return tuple(_joined(name, shapes, None)), ()


def _sum(params: PyTree, inputs: Any) -> Any:
    name = "FanInSum"
    total, *rest = [array(name, x) for x in _several(name, inputs, "inputs")]
    _joined(name, [total.shape, *[x.shape for x in rest]], None)
    for x in rest:
        total = total + x
    return total


FanInSum = layer(_sum_shape, _sum)


@located
def FanInConcat(axis: int = -1) -> Layer:
    """A layer that joins several arrays along an axis.

    Args:
      axis: the axis, along which their lengths may differ.
    Returns: (init_fun, apply_fun), of a list of shapes and a list of arrays; there are no
      parameters.
    Raises: ValueError: shapes differ in another axis, or `axis` is out of range.
    Example:
      >>> from weft.experimental import stax
      >>> stax.FanInConcat()[0](random.PRNGKey(0), [(-1, 3), (-1, 4)])[0]
      (-1, 7)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    name = "FanInConcat"

    def init(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        shapes = [shape_of(name, s) for s in _several(name, input_shape, "input_shape")]
        at = one_axis(name, axis, len(shapes[0]))
        joined = _joined(name, shapes, at)
        lengths = [s[at] for s in shapes]
        joined[at] = -1 if -1 in lengths else sum(lengths)
        return tuple(joined), ()

    def apply(params: PyTree, inputs: Any) -> Any:
        xs = [array(name, x) for x in _several(name, inputs, "inputs")]
        at = one_axis(name, axis, xs[0].ndim)
        _joined(name, [x.shape for x in xs], at)
        return np.concatenate(xs, at)

    return layer(init, apply)
