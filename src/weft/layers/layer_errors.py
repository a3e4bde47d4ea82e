"""The error of layers: which one, what it was doing, where it was made, and what came in.

Knows frames and text; nothing of layers.
"""

import linecache
import os
import sys
from types import FrameType, TracebackType
from typing import Any

from ..errors import WeftError
from ..shapes import ShapeDtype

HERE = os.path.dirname(__file__) + os.sep
WEFT = os.path.dirname(os.path.dirname(__file__)) + os.sep
LONGEST = 500
HIDDEN = tuple(HERE + name for name in ("base.py", "layer_calls.py", "layer_errors.py"))


class LayerError(WeftError):
    """An error in a layer, with the way to it through the layers around.

    Args:
      layer_name: name of the layer.
      function_name: what it was doing: 'init', 'pure_fn', 'backward' or '_forward_abstract'.
      caller: where the layer was made, as a dict with 'filename' and 'lineno'.
      input_signature: the shapes and dtypes that came in.
      traceback_string: the frames down to the error, and the error itself.

    `message`, which is what is printed, has these parts in this order. An error that passes several
    layers is told once for each, the outermost first.

    Usual causes:
      An input whose shape or dtype a layer doesn't take; a layer that was called before `init`;
      weights of another layer.

    Cures:
      * Look for the innermost layer: the last "Exception passing through layer".
      * `layer.output_signature(signature)` of the layers before it says what they give.

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
        input_signature = shortened(input_signature)  # text, so that the error can be pickled
        super().__init__(layer_name, function_name, caller, input_signature, traceback_string)

    @property
    def message(self) -> str:
        """The text of the error."""
        layer_name, function_name, caller, input_signature, traceback_string = self.args
        return (
            f"Exception passing through layer {layer_name} (in {function_name}):\n"
            f"  layer created in file {short_path(caller['filename'])}, line {caller['lineno']}\n"
            f"  layer input shapes: {input_signature}\n\n"
            f"{traceback_string}"
        )

    def __str__(self) -> str:
        return self.message


def creation_site() -> tuple[str, int]:
    """File and line of the innermost frame that isn't of this package, nor of gin."""
    frame: FrameType | None = sys._getframe(1)
    found = ("<unknown>", 0)
    while frame is not None:
        name = frame.f_code.co_filename
        found = name, frame.f_lineno
        if not name.startswith(HERE) and os.path.basename(os.path.dirname(name)) != "gin":
            break
        frame = frame.f_back
    return found


def short_path(path: str) -> str:
    """The last three parts of a path: `[...]/examples/mlp/train.py`."""
    parts = path.replace("\\", "/").split("/")
    return path if len(parts) <= 3 else "[...]/" + "/".join(parts[-3:])


def shortened(inputs: Any) -> str:
    """The text of something; of more than a screen's, its beginning. A list of lists of numbers,
    taken for as many inputs, came to thirty thousand characters."""
    text = str(inputs)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters)"


def described(inputs: Any) -> Any:
    """The signature of inputs, with the type of what has no shape and dtype."""
    if isinstance(inputs, list | tuple):
        return [*map(described, inputs)] if isinstance(inputs, list) else (*map(described, inputs),)
    if isinstance(inputs, dict):
        return {key: described(value) for key, value in inputs.items()}
    try:
        return ShapeDtype(inputs.shape, inputs.dtype)
    except (AttributeError, TypeError):
        return inputs if inputs is None else type(inputs).__name__


def no_array(inputs: Any) -> str | None:
    """The type of the first of some inputs that is neither an array nor a signature, if there is
    one: an input with a mistake of the caller's."""
    if isinstance(inputs, tuple):
        return next(filter(None, map(no_array, inputs)), None)
    is_array = hasattr(inputs, "shape") and hasattr(inputs, "dtype")
    return None if is_array else type(inputs).__name__


def way_out(function: str, inputs: Any, error: BaseException, is_new: bool) -> str:
    """A line for two mistakes that show in errors of all kinds: a layer that `init` hasn't given
    weights (`is_new`), and inputs that aren't arrays. Empty if it is neither."""
    if isinstance(error, LayerError) or "\n  fix: " in str(error):  # told already
        return ""
    kind = no_array(inputs)
    if kind is not None and isinstance(error, AttributeError | TypeError):
        if function == "pure_fn":
            return f"\n  fix: the layer takes arrays, and got {kind}: np.asarray(x)"
        return (
            f"\n  fix: the layer takes signatures, and got {kind}: shapes.ShapeDtype((2, 3)), or "
            "shapes.signature(x) of an array"
        )
    if is_new and function != "init":
        return "\n  fix: the layer has no weights yet: layer.init(shapes.signature(x)) makes them"
    return ""


def told(error: BaseException) -> str:
    """The frames between a layer and an error, and the error: what `traceback_string` is."""
    lines = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        name, number = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        inside = name.startswith(WEFT) and not name.startswith(HERE)
        if name not in HIDDEN and not inside:
            code = linecache.getline(name, number).strip()
            place = f"File {short_path(name)}, line {number}, in {trace.tb_frame.f_code.co_name}"
            lines += [f"  {place}", *([f"    {code}"] if code else []), ""]
        trace = trace.tb_next
    has_line = isinstance(
        error, LayerError
    )  # that of the layer; the outermost one has the caller's
    notes = [] if has_line else [f"\n{note}" for note in getattr(error, "__notes__", ())]
    return "\n".join([*lines, f"{type(error).__name__}: {error}{''.join(notes)}"])
