"""The command `weft`: trains, evaluates and samples models that a file of TOML describes, and
explains where the time and memory of a program go.

The functions under it are for programs and notebooks too: `config.read` reads and checks a file,
`building.loop_of` makes its training loop.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {},
    modules="building config main",
)
