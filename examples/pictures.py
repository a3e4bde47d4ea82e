"""Pictures for the examples, where matplotlib is installed (the extra `viz`)."""

from collections.abc import Callable
from typing import Any


def save(path: str, draw: Callable[[Any], None], size: tuple[float, float] = (8, 4)) -> None:
    """Writes what `draw(figure)` draws to a file; an empty path is none."""
    if not path:
        return
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: matplotlib is not installed (pip install 'weft[viz]')")
        return
    figure = Figure(figsize=size, layout="constrained")
    draw(figure)
    figure.savefig(path, dpi=120)
    print(f"picture              {path}")
