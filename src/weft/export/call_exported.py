"""The primitive that calls an exported program."""

import re
from collections.abc import Sequence
from typing import Any

from ..core.aval import Aval
from ..core.primitive import Primitive
from ..stablehlo import Block, Operand


class ExportedModule:
    """The StableHLO of an exported function for each of its platforms, compared by identity.

    Attributes:
      name: the function's name, for messages.
      texts: the StableHLO, by platform.
      in_avals, out_avals: the types of its public function `main`.
      any_platform: whether other platforms use the first text.
    """

    __slots__ = ("__weakref__", "any_platform", "in_avals", "name", "out_avals", "texts")

    def __init__(
        self,
        name: str,
        texts: dict[str, str],
        in_avals: Sequence[Aval],
        out_avals: Sequence[Aval],
        any_platform: bool,
    ) -> None:
        self.name, self.texts, self.any_platform = name, texts, any_platform
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)

    def __repr__(self) -> str:
        return self.name

    def text_for(self, platform: str) -> str:
        """The text for a platform.

        Raises: ValueError: the function was not exported for it.
        """
        if platform in self.texts:
            return self.texts[platform]
        if self.any_platform:
            return next(iter(self.texts.values()))
        raise ValueError(
            f"export: {self.name} was exported for {', '.join(self.texts)}, and is called on "
            f"{platform}\n  fix: export(…, platforms=[…, {platform!r}]), or "
            "disabled_checks=[DisabledSafetyCheck.platform()]"
        )


call_exported = Primitive("call_exported", "Calls an exported program.", multiple=True)


@call_exported.type
def _(*avals: Aval, module: ExportedModule) -> Sequence[Aval]:
    return module.out_avals


@call_exported.lower
def _(block: Block, *operands: Operand, out: Any, module: ExportedModule) -> list[Operand]:
    outer = block.module
    name = outer.made.get(id(module))
    if name is None:
        text = module.text_for(outer.platform)
        fresh = {old: outer.fresh_name(f"{module.name}.{old}") for old in functions_of(text)}
        outer.functions.append(renamed(text, fresh))
        outer.keep.append(module)
        name = outer.made[id(module)] = fresh["main"]
    return block.call(name, operands, out)


_DEFINED = re.compile(r"func\.func (?:public |private )?@([\w.$-]+)")


def functions_of(text: str) -> list[str]:
    """The names of the functions of a module."""
    return _DEFINED.findall(text)


def renamed(text: str, names: dict[str, str]) -> str:
    """The functions of a module with other names, and private, for another module."""
    lines = text.strip().splitlines()
    body = "\n".join(lines[1:-1]) if lines[0].startswith("module") else text
    body = body.replace("func.func public ", "func.func private ")

    def other(match: re.Match[str]) -> str:
        return f"@{names.get(match.group(1), match.group(1))}"

    return re.sub(r"(?<!custom_call )@([\w.$-]+)", other, body)


def custom_calls(text: str) -> set[str]:
    """The targets of the native functions that a module calls."""
    named = set(re.findall(r"custom_call @([\w.$-]+)", text))
    return named | set(re.findall(r'call_target_name = "([^"]*)"', text))
