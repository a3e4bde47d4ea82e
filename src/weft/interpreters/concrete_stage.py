"""Recording of a program while Python code may look at values.

For functions whose Python code branches on elements. The program is then that of the branches that
were taken: for these values and no others. Knows equations; knows nothing of derivatives.
"""

from collections.abc import Sequence
from typing import Any

from ..compiler.simplify import has_effects, live_equations
from ..core.jaxpr import Var
from ..core.trace import current, under
from ..core.value import Value
from .stage import StageTrace, StageTracer


class ConcreteStageTrace(StageTrace):
    """Records operations, and evaluates those that a value depends on when Python asks for it.

    Args:
      values: what the inputs are, an `Array` each, or `None` where nobody knows.
    """

    __slots__ = ("known", "values")

    def __init__(self, values: Sequence[Value | None], transform: str, function: Any) -> None:
        super().__init__(transform, function)
        self.values = values
        self.known: dict[Var, Any] = {}

    def value_of(self, tracer: StageTracer) -> Any:
        if self.equations is None:
            return None
        known, wanted = self.known, {tracer._var}
        if not known:
            known.update(zip([t._var for t in self.inputs], self.values, strict=True))
        for stand_in, x in self.captured.values():
            if stand_in._var not in known:
                known[stand_in._var] = x.concrete()
        # of an equation with programs inside, some results may be known and others not
        todo = [e for e in self.equations if any(v not in known for v in e.outvars)]
        todo = live_equations(todo, wanted, effects=False)
        if any(v in known and known[v] is None for v in wanted):
            return None
        for e in todo:
            if has_effects(e):
                raise TypeError(
                    f"{self.transform}: Python code looks at a value that follows from "
                    f"{e.primitive}, which has effects: it would be done twice\n"
                    "  fix: do it outside of the function"
                )
            inputs = [known[v] if type(v) is Var else v for v in e.inputs]
            outs = under(current.base, current.base.bind, e.primitive, inputs, e.params)
            known.update(zip(e.outvars, outs if e.primitive.multiple else [outs], strict=True))
        return known[tracer._var]

    def close(self) -> None:
        super().close()
        self.known, self.values = {}, ()
