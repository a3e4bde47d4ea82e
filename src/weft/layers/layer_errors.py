"""LayerError: the cause of an error, the layer in which it occurred, where the layer was made, and
its inputs.

Also `drawn`, the data stack as text, for errors of combinators.
"""

import linecache
import os
import sys
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

from ..errors import WeftError
from ..shapes import ShapeDtype

HERE = os.path.dirname(__file__) + os.sep
WEFT = os.path.dirname(os.path.dirname(__file__)) + os.sep
MAX_CHARACTERS = 500


class LayerError(WeftError):
    """An error inside a layer: the cause, then the layers around it, the innermost first.

    Args:
      layer_name: the name of the layer.
      function_name: the function in which it occurred: 'init', 'pure_fn', 'backward' or
        '_forward_abstract'.
      caller: where the layer was made, as a dict with 'filename' and 'lineno'.
      input_signature: the shapes and dtypes of its inputs.
      traceback_string: the error, the lines of your own code inside the layer, and the inner
        layers.

    Usual causes:
      An input whose shape or dtype a layer does not accept; a call before `init`; weights of
      another layer.

    Cures:
      * The first line is the cause; the first layer below it is the layer in which it occurred.
      * `layer.output_signature(signature)` of the preceding layers shows the shapes that they pass
        on.

    Example:
      >>> try:
      ...     tl.Serial(tl.Dense(2), tl.Relu())(np.ones((3, 4)))
      ... except tl.LayerError as error:
      ...     print(str(error).splitlines()[0])
      ValueError: Dense_2: expected weights (w, b); got none

    Source: Trax documentation, `layers.base.LayerError`.
    """

    def __init__(
        self,
        layer_name: str,
        function_name: str,
        caller: dict[str, Any],
        input_signature: Any,
        traceback_string: str,
    ) -> None:
        if not isinstance(input_signature, str):  # text, so that the error can be pickled
            input_signature = shortened(signature_text(input_signature))
        super().__init__(layer_name, function_name, caller, input_signature, traceback_string)

    @property
    def message(self) -> str:
        """The text of the error."""
        layer_name, function_name, caller, input_signature, traceback_string = self.args
        place = f"{short_path(caller['filename'])}:{caller['lineno']}"
        return (
            f"{traceback_string}\n"
            f"  in layer {layer_name} ({function_name}), made at {place}, for {input_signature}"
        )

    def __str__(self) -> str:
        return self.message


def creation_site() -> tuple[str, int]:
    """The file and line of the innermost frame outside of this package and gin."""
    frame: FrameType | None = sys._getframe(1)
    site = ("<unknown>", 0)
    while frame is not None:
        name = frame.f_code.co_filename
        site = name, frame.f_lineno
        if not name.startswith(HERE) and os.path.basename(os.path.dirname(name)) != "gin":
            break
        frame = frame.f_back
    return site


def short_path(path: str) -> str:
    """The last three parts of a path: `[...]/examples/mlp/train.py`."""
    parts = path.replace("\\", "/").split("/")
    return path if len(parts) <= 3 else "[...]/" + "/".join(parts[-3:])


def shortened(inputs: Any) -> str:
    """The text of an object, truncated to `MAX_CHARACTERS`."""
    text = str(inputs)
    return (
        text
        if len(text) <= MAX_CHARACTERS
        else f"{text[:MAX_CHARACTERS]} … ({len(text)} characters)"
    )


def described(inputs: Any) -> Any:
    """The signature of inputs; objects without shape and dtype are shown by their type."""
    if isinstance(inputs, list | tuple):
        return [*map(described, inputs)] if isinstance(inputs, list) else (*map(described, inputs),)
    if isinstance(inputs, dict):
        return {key: described(value) for key, value in inputs.items()}
    try:
        return ShapeDtype(inputs.shape, inputs.dtype)
    except (AttributeError, TypeError):
        return inputs if inputs is None else type(inputs).__name__


def signature_text(signature: Any) -> str:
    """Nested signatures as text: `(float32[2,3], int32[2])`."""
    if isinstance(signature, ShapeDtype):
        dtype = getattr(signature.dtype, "__name__", None) or str(signature.dtype)
        return f"{dtype}[{','.join(map(str, signature.shape))}]"
    if isinstance(signature, tuple):
        inside = ", ".join(map(signature_text, signature))
        return f"({inside},)" if len(signature) == 1 else f"({inside})"
    if isinstance(signature, list):
        return f"[{', '.join(map(signature_text, signature))}]"
    if isinstance(signature, dict):
        return f"{{{', '.join(f'{k!r}: {signature_text(v)}' for k, v in signature.items())}}}"
    return str(signature)


def no_array(inputs: Any) -> str | None:
    """The type of the first input that is neither an array nor a signature; None if there is
    none."""
    if isinstance(inputs, tuple):
        return next(filter(None, map(no_array, inputs)), None)
    is_array = hasattr(inputs, "shape") and hasattr(inputs, "dtype")
    return None if is_array else type(inputs).__name__


def likely_fix(function: str, inputs: Any, error: BaseException, is_new: bool) -> str:
    """A `fix:` line for two common mistakes: a layer without weights (`is_new`), and inputs that
    are not arrays. Empty for other mistakes."""
    if isinstance(error, LayerError) or "\n  fix: " in str(error):  # the message already has a fix
        return ""
    kind = no_array(inputs)
    if kind is not None and isinstance(error, AttributeError | TypeError):
        if function == "pure_fn":
            return f"  fix: the layer takes arrays, and got {kind}: np.asarray(x)"
        return (
            f"  fix: the layer takes signatures, and got {kind}: shapes.ShapeDtype((2, 3)), or "
            "shapes.signature(x) of an array"
        )
    if is_new and function != "init":
        return "  fix: the layer has no weights yet: layer.init(shapes.signature(x)) makes them"
    return ""


def cause_text(error: BaseException, fix: str) -> str:
    """An error, its `fix:` line, and the lines of the user's code between it and the layer, for
    `traceback_string`."""
    if isinstance(error, LayerError):
        cause = [str(error)]
    else:
        notes = [n for n in getattr(error, "__notes__", ()) if not n.startswith("  at ")]
        cause = [f"{type(error).__name__}: {error}", *notes]
    trace: TracebackType | None = error.__traceback__
    frames = []
    while trace is not None:
        name, number = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        if not name.startswith(WEFT):
            code = linecache.getline(name, number).strip()
            frames.append(f"  at {short_path(name)}:{number}: {code}".removesuffix(": "))
        trace = trace.tb_next
    return "\n".join([*cause, *([fix] if fix else []), *reversed(frames)])


def arity(layers: Sequence[Any]) -> tuple[int, int]:
    """(n_in, n_out) of layers in series."""
    depth = needed = 0
    for layer in layers:
        depth += layer.n_in
        needed = max(needed, depth)
        depth -= layer.n_out
    return needed, needed - depth


def drawn(layers: Sequence[Any], n_items: int) -> str:
    """One line for each layer: the stack before it, with its inputs in brackets.

    The stack's top is on the left. `x0` is the first input; `a0` is the first output of the first
    layer, `b0` that of the second. The last line is the first layer that takes more items than the
    stack has, or the final stack.
    """
    stack = [f"x{i}" for i in range(n_items)]
    rows = []
    for number, layer in enumerate(layers):
        taken, rest = stack[: layer.n_in], stack[layer.n_in :]
        shown = " ".join([f"[{' '.join(taken)}]", *rest])
        what = str(layer).partition("\n")[0].rstrip("[")
        if len(taken) < layer.n_in:
            rows.append((shown, f"{what} takes {layer.n_in} items, and there are {len(taken)}"))
            break
        rows.append((shown, f"{what}: {layer.n_in} -> {layer.n_out}"))
        letter = chr(ord("a") + number) if number < 26 else f"y{number}."
        stack = [f"{letter}{i}" for i in range(layer.n_out)] + rest
    else:
        rows.append((" ".join(stack) or "(nothing)", "at the end"))
    width = min(max(len(shown) for shown, _ in rows), 48)
    lines = [f"    {shown:{width}}  {what}" for shown, what in rows]
    return "\n".join(["  the stack, its top on the left:", *lines])
