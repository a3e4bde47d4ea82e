"""The rules of a higher-order primitive: of an operation with programs in its parameters."""

from collections.abc import Callable
from typing import Any

from ..errors import MissingRuleError

Rule = Callable[..., Any]


class ProgramInside:
    """The rules of a higher-order primitive. Each of them is a subclass, whole in one file:

        method        called as                                returns
        type, lower, transpose, batch                          as of other primitives
        execute       (args, **params)                         output values, computed now
        linearize     (mask, avals, **params)                  a `Derivative`: a program to run now,
                                                               and the linear one that it leaves
        pushforward   (mask, avals, **params)                  a jaxpr, from the primals and active
                                                               tangents to the outputs and their
                                                               tangents; which outputs have one
        depends       (mask, inexact, **params)                which outputs depend on the arguments
                                                               in `mask`; only those that may have
                                                               derivatives, if `inexact`
        unfold        (args, **params)                         a generator: the runs of the programs
                                                               inside, one after the other, as
                                                               (jaxpr, inputs, the argument that
                                                               each of them is, a name for the
                                                               step); it is sent their outputs
        partial_eval  (e, wanted, policy)                      the equation `e` in two, known and
                                                               rematerialised: an `EquationParts`
        vary          (ins, context, **params)                 the mesh axes along which each result
                                                               varies, from those of the operands
        keep_uniform  (e, ins, context)                        an equation that does the same, in
                                                               which devices that communicate don't
                                                               take different ways
        keep_live     (e, wanted)                              an equation of the wanted results
                                                               alone, and of the operands that
                                                               these need; `e` if they need all
        follow_keys   (marks, uses, **params)                  the marks of random keys among the
                                                               results
        stage_custom  (primitive, function, rules, args)       the outputs of a function with rules
                                                               of the user's, written down

    `mask` says which arguments have a tangent. `batch` gets an `Axis`, whose name the programs may
    refer to, and is called without a batched argument too if they do. The first parameter is a
    jaxpr (or a tuple of them; the second may be another), and everything derived is kept on the
    latest of them, so that it dies with it.

    The passes that ask: `programs/partial_eval.py`; `programs/uniformity.py` for `vary` and
    `keep_uniform`, with a `Divergence` as `context`; `compiler/simplify.py` for `keep_live`;
    `interpreters/debugging` for `unfold` and, with its `Uses`, `follow_keys`. A method that is
    missing is a statement, as a missing rule of any primitive is: it has no such parts, may be in
    one piece only, or stays as it is.

    Attributes:
      inlinable: it applies its parameter `jaxpr` to its operands, and may be written out.
    """

    inlinable = False

    execute: Rule | None = None
    depends: Rule | None = None
    unfold: Rule | None = None
    partial_eval: Rule | None = None
    vary: Rule | None = None
    keep_uniform: Rule | None = None
    keep_live: Rule | None = None
    follow_keys: Rule | None = None
    stage_custom: Rule | None = None

    def linearize(self, *args: Any, **params: Any) -> Any:
        raise MissingRuleError(f"{type(self).__name__}: is not differentiable: has no linearize")

    def pushforward(self, *args: Any, **params: Any) -> Any:
        raise MissingRuleError(f"{type(self).__name__}: has no forward mode: no pushforward")
