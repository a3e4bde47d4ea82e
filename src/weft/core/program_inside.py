"""The rules of a higher-order primitive, an operation with programs in its parameters."""

from collections.abc import Callable
from typing import Any

from ..errors import MissingRuleError

Rule = Callable[..., Any]


class ProgramInside:
    """The rules of a higher-order primitive. Each primitive has a subclass, whole in one file:

        method        called as                                returns
        type, lower, transpose, batch                          as for other primitives
        execute       (args, **params)                         output values, computed now
        linearize     (mask, avals, **params)                  a `Derivative`: a program to run now,
                                                               and a linear program
        pushforward   (mask, avals, **params)                  a jaxpr from the primals and active
                                                               tangents to the outputs and their
                                                               tangents; which outputs have one
        depends       (mask, inexact, **params)                which outputs depend on the arguments
                                                               in `mask`; if `inexact`, only outputs
                                                               that may have derivatives
        inner_runs    (args, **params)                         a generator over the runs of the
                                                               programs inside, as (jaxpr, inputs,
                                                               the argument that each input is, a
                                                               name for the step); it is sent the
                                                               outputs of each run
        partial_eval  (e, used_outs, policy)                   the equation `e` split into a known
                                                               and a rematerialised one, as
                                                               `EquationParts`
        vary          (ins, context, **params)                 the mesh axes along which each result
                                                               varies, from those of the operands
        keep_uniform  (e, ins, context)                        an equivalent equation in which
                                                               communicating devices take the same
                                                               path
        live_equation (e, used_outs)                           an equation of the used results
                                                               only, with the operands that they
                                                               need; `e` if all are needed
        follow_keys   (marks, uses, **params)                  the marks of random keys among the
                                                               results
        stage_custom  (primitive, function, rules, args)       the outputs of a function with the
                                                               user's rules, staged

    `mask` marks the arguments that have a tangent. `batch` gets an `Axis`, whose name the programs
    may refer to; if they do, it is called even if no argument is batched. The first parameter is a
    jaxpr or a tuple of jaxprs (the second may be one too), and derived results are kept on the
    latest of them, so that they die with it.

    Used by `programs/partial_eval.py`; by `programs/uniformity.py` (`vary` and `keep_uniform`, with
    a `Divergence` as `context`); by `compiler/simplify.py` (`live_equation`); by
    `interpreters/debugging` (`inner_runs`, and `follow_keys` with its `Uses`). A missing method is
    a statement, like a missing rule of any primitive: the equation is not split, or is unchanged.

    Attributes:
      inlinable: True if it applies its parameter `jaxpr` to its operands, and so can be inlined.
    Example:
      >>> from weft.extend import ProgramInside
      >>> isinstance(lax.scan_p.inside, ProgramInside), isinstance(lax.cond_p.inside, ProgramInside)
      (True, True)
    """

    inlinable = False

    execute: Rule | None = None
    depends: Rule | None = None
    inner_runs: Rule | None = None
    partial_eval: Rule | None = None
    vary: Rule | None = None
    keep_uniform: Rule | None = None
    live_equation: Rule | None = None
    follow_keys: Rule | None = None
    stage_custom: Rule | None = None

    def linearize(self, *args: Any, **params: Any) -> Any:
        raise MissingRuleError(f"{type(self).__name__}: is not differentiable: has no linearize")

    def pushforward(self, *args: Any, **params: Any) -> Any:
        raise MissingRuleError(f"{type(self).__name__}: has no forward mode: no pushforward")
