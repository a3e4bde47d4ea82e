"""The command `weft`: trains, evaluates and samples models that a TOML file describes, explains
where the time and memory of a program go, and replays failed calls.

Programs and notebooks can use its functions too: `config.read` reads and checks a configuration
file, and `building.loop_of` makes the training loop.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {},
    modules="building config main",
)
