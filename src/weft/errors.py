"""The exceptions of weft beyond Python's own, as a tree.

WeftError                                    any of these
├── ShapeError        TypeError, ValueError      a shape, dtype or structure doesn't match
│   ├── IndexingError            IndexError      … an index: out of range, too many, a wrong mask
│   ├── AxisError       NumPy's AxisError        … an axis: the array does not have it
│   └── TypePromotionError                       … two dtypes that have no common one
├── DerivativeError   TypeError, ValueError      a derivative that can't be computed in this way
├── ConcretizationTypeError      TypeError       a traced value is needed as a number, now
│   ├── TracerBoolConversionError                … as the condition of an `if`, `while`, `and`, `or`
│   └── TracerIntegerConversionError             … as an index or length of Python's
├── TracerArrayConversionError   TypeError       … as a NumPy array
├── NonConcreteBooleanIndexError IndexError      … as a mask that decides a shape
├── UnexpectedTracerError        TypeError       a traced value is used outside its trace
├── KeyReuseError                TypeError       a random key is used twice (see `debug_key_reuse`)
├── DerivativeRuleError          ValueError      a user's derivative rule is wrong (see
│                                                `check_derivatives`)
├── UnboundAxisError             NameError       a collective's axis name isn't in scope
├── MissingRuleError             NotImplementedError   an operation lacks the rule that it needs
├── CheckpointError              ValueError      a checkpoint is damaged, cut off or foreign
│   └── CheckpointMismatchError  IndexError      it belongs to another model or optimizer
├── InvalidJaxprError            RuntimeError    a program is malformed (see `enable_checks`)
├── DeletedArrayError            RuntimeError    the array's memory was donated or freed
├── CompilationError             RuntimeError    a program could not be compiled
└── ExecutionError               RuntimeError    a compiled program, or a transfer, failed

Options with a wrong value, and objects of a wrong kind, are plain TypeErrors and ValueErrors. Each
error can be pickled and copied: it keeps its message, its notes and the user's line.

The errors about tracers, from ConcretizationTypeError on, have one background. `jit`, `vmap`,
`scan`, `cond`, `make_jaxpr` and others run a function on *tracers*: values with a shape and a dtype
but no elements, which record the operations on them. The Python code may depend on shapes, dtypes
and static arguments only, since the program is made once and then runs on all elements. `help` of a
class here explains what to do.
"""

import numpy as onp


class WeftError(Exception):
    """Any exception of weft's own.

    `except weft.errors.WeftError` catches them all. Each is also an instance of the matching Python
    class.

    Example:
      >>> import weft, weft.numpy as np
      >>> try:
      ...     np.ones(3) + np.ones(4)
      ... except weft.errors.WeftError as error:
      ...     print(type(error).__name__)
      ShapeError
    """


class ShapeError(WeftError, TypeError, ValueError):
    """A shape, a dtype or the structure of a container does not match.

    It is both a TypeError and a ValueError, since programs expect either.

    Usual causes:
      Operands that don't broadcast; dtypes that an operation doesn't take or mix; a body that
      returns a carry of another type than it takes; a tangent or a tree unlike its counterpart.

    Cures:
      * The message names the argument with its shape and dtype, as `float32[2,3]`.
      * Shapes: `x.reshape`, `x[:, None]`, `x.T`, `np.broadcast_to`.
      * Dtypes: `x.astype(…)`, or the function of `weft.numpy`, which promotes.
      * Structures: `weft.tree_util.tree_structure` shows one.

    Example::

        np.ones(3) + np.ones(4)
    """


class TypePromotionError(ShapeError):
    """Two dtypes have no common one to which they could be promoted.

    Usual causes:
      An operand of a dtype that is for storage alone: int2, int4, uint2, uint4, float4, float8.
      Any two dtypes, where `numpy_dtype_promotion` is 'strict'.

    Cures:
      * Convert one operand: `x.astype("float32")`.

    Example::

        np.ones(3, "float8_e5m2") + np.ones(3)
    """


class IndexingError(ShapeError, IndexError):
    """An index doesn't match the array: out of range, too many, or a mask of another shape.

    Usual causes:
      More indices than axes; a mask that isn't of the array's shape; `np.insert`, `np.delete` or
      `lax.index_in_dim` beyond the end; elements of an empty axis.

    Cures:
      * Look at `x.shape`.
      * `x[i]` itself doesn't raise for an index beyond the end, since the index may be known only
        when the program runs; `x.at[i].get(mode="fill")` marks such elements.

    Example::

        x = np.ones(3)
        x[0, 0]                             # fix: x[0]
    """


class AxisError(ShapeError, onp.exceptions.AxisError):
    """An axis that the array does not have. Also NumPy's AxisError, a ValueError and an IndexError.

    Usual causes:
      An axis counted from 1; a function for batches called on one element; the mapped axis under
      `vmap`, which the function does not see.

    Cures:
      * The axes of `x` are 0 to `x.ndim - 1`, and -1 is the last one.
      * `np.expand_dims(x, axis)` adds one.

    Example::

        np.sum(np.ones(3), axis=1)          # fix: axis=0, or axis=-1
    """

    def __init__(self, message: str = "") -> None:
        onp.exceptions.AxisError.__init__(self, message)  # type: ignore[call-overload]


class DerivativeError(WeftError, TypeError, ValueError):
    """A derivative cannot be computed in this way.

    Usual causes:
      Reverse mode through a `while_loop`, whose number of steps isn't known; forward mode through a
      function with a `custom_vjp` rule, which has no rule for tangents.

    Cures:
      * `lax.scan`, or a `fori_loop` with bounds that are Python integers, for reverse mode.
      * `weft.custom_jvp` in place of `custom_vjp`: it serves both modes.

    Example::

        f = lambda x: lax.while_loop(lambda y: y < 10.0, lambda y: y * 2.0, x)
        weft.grad(f)(1.0)                   # fix: weft.jvp(f, (1.0,), (1.0,))
    """


class DerivativeRuleError(WeftError, ValueError):
    """A user's derivative rule does not give the derivative; see `check_derivatives`.

    Usual causes:
      A sign, a factor or a term that is wrong or missing; a cotangent that is returned for another
      argument, or transposed; a rule that is not linear; a residual that is not what the backward
      rule takes it for.

    Cures:
      * The message names the argument, an element, and both derivatives.
      * A rule that differs on purpose (clipped gradients, surrogates): set
        `f.check_derivatives = False`, or return `None` for a cotangent that is not wanted.

    Example::

        f = weft.custom_jvp(np.log)
        f.defjvps(lambda t, out, x: t * x)      # fix: f.defjvps(lambda t, out, x: t / x)
        with weft.check_derivatives(True):
            weft.grad(f)(2.0)
    """


class ConcretizationTypeError(WeftError, TypeError):
    """A traced value is needed as a number while its function is being traced.

    Usual causes:
      `int(x)`, `float(x)`, `x.item()`, `x.tolist()` on a traced `x`; a traced value as an axis, a
      shape or another parameter that determines the program.

    Cures:
      * If it determines the program (a size, an axis, an option), make the argument static:
        `jit(f, static_argnames="n")`. The function is traced again for each of its values.
      * If it follows from a shape, take it from `x.shape`, which is known: `x.size`, not
        `np.sum(np.ones_like(x))`.
      * If it is for printing, use `weft.debug.print`.
      * Otherwise keep to operations on arrays: `x.astype(np.int32)`, not `int(x)`.

    Example::

        @weft.jit
        def f(x, n):
            return x * np.arange(int(n))    # the length of the result depends on n

        f(2.0, 3)                           # fix: weft.jit(f, static_argnums=1)
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value is needed as True or False while its function is being traced.

    Usual causes:
      `if x > 0`, `while x > 0`, `assert x > 0`, `x > 0 and y > 0`, `not x`, `0 < x < 1`,
      `max(x, y)`, `x in (…)`, on a traced `x`.

    Cures:
      * Choose between values by `np.where(x > 0, a, b)`; `np.maximum`, `np.clip` and others.
      * Choose between computations by `lax.cond`, repeat by `lax.while_loop`, `lax.fori_loop`.
      * Combine conditions by `&`, `|`, `~` or `np.logical_and`, not `and`, `or`, `not`.
      * If it is an option rather than data, make it static: `jit(f, static_argnames="train")`.

    Example::

        @weft.jit
        def f(x):
            if x > 0:                       # fix: return np.where(x > 0, x, -x)
                return x
            return -x

        f(1.0)
    """


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value is needed as a Python integer, such as an index, while it is traced.

    Usual causes:
      A traced index into a list, tuple or NumPy array; `range(n)`; `x.reshape(n, -1)`,
      `[0] * n` with a traced `n`.

    Cures:
      * Convert the indexed object to a weft array: `np.asarray(table)[i]`.
      * If it decides how often a loop runs, use `lax.fori_loop`; or make it static:
        `jit(f, static_argnames="n")`.

    Example::

        table = [10, 20, 30]

        @weft.jit
        def f(i):
            return table[i]                 # fix: np.asarray(table)[i]

        f(1)
    """


class TracerArrayConversionError(WeftError, TypeError):
    """A traced value is needed as a NumPy array while its function is being traced.

    Usual causes:
      A function of NumPy or SciPy itself, or of another library, on a traced value:
      `numpy.sin(x)` where `weft.numpy.sin(x)` is meant; a traced index into a NumPy array.

    Cures:
      * Use the function of the same name in `weft.numpy`, `weft.scipy`, `weft.lax`.
      * If there is none, call back to the host by `weft.pure_callback`.
      * Convert a NumPy array to a weft array before indexing it: `np.asarray(table)[i]`.

    Example::

        import numpy

        @weft.jit
        def f(x):
            return numpy.sin(x)             # fix: weft.numpy.sin(x)

        f(1.0)
    """


class NonConcreteBooleanIndexError(WeftError, IndexError):
    """A traced mask is used as an index, so that the shape of the result depends on its elements.

    Usual causes:
      `x[x > 0]`, `x[mask] = …`, `np.nonzero(x)`, `np.where(mask)` with one argument, on a traced
      mask. How many elements are chosen is known when the program runs; shapes, before.

    Cures:
      * Keep the shape and choose by `np.where(mask, x, 0)`; a sum over a mask is
        `np.sum(x, where=mask)`.
      * Set by `np.where(mask, new, x)`, or `x.at[mask].set(scalar)`.
      * Give the count: `np.nonzero(x, size=n)`.

    Example::

        @weft.jit
        def f(x):
            return np.sum(x[x > 0])         # fix: np.sum(np.where(x > 0, x, 0))

        f(np.arange(3.0))
    """


class UnexpectedTracerError(WeftError, TypeError):
    """A traced value is used outside the trace that it belongs to.

    Usual causes:
      A traced function stores a value in a global, an attribute, a list or a closure, and
      something uses it later, when the trace is over and the value has no meaning.

    Cures:
      * Return the value from the function, and pass it on as an argument.
      * Don't keep state across calls of a traced function: state is an argument and a result.
      * `config.update("check_tracer_leaks", True)` reports the leak where it happens.

    Example::

        seen = []

        @weft.jit
        def f(x):
            seen.append(x + 1)              # fix: return both values
            return x

        f(1.0)
        np.sin(seen[0])
    """


class KeyReuseError(WeftError, TypeError):
    """A random key is used a second time. Checked only under the switch `debug_key_reuse`.

    Usual causes:
      Two samplers get one key, and so return the same or related numbers; a key is used
      after it was split; a loop uses a key from outside in each of its steps.

    Cures:
      * `key, subkey = random.split(key)`, and each of the two once.
      * In a loop, `random.fold_in(key, i)`, or a key in the carry that is split in each step.
      * `random.clone(key)` allows a second use on purpose.

    Example::

        with weft.debug_key_reuse(True):
            key = weft.random.key(0)
            x = weft.random.normal(key)
            y = weft.random.normal(key)  # fix: its own key
    """


class UnboundAxisError(WeftError, NameError):
    """A collective names an axis that isn't in scope.

    Usual causes:
      `lax.psum(x, "i")`, `lax.axis_index("i")` and their like in a function that isn't mapped, or
      mapped without a name; a misspelt name; the mapped function's result is used outside.

    Cures:
      * Name the axis where it is mapped: `weft.vmap(f, axis_name="i")`.
      * To look at the program alone: `weft.make_jaxpr(f, axis_env=[("i", 4)])`.

    Example::

        def f(x):
            return x - lax.pmean(x, "i")

        weft.vmap(f)(np.arange(3.0))        # fix: weft.vmap(f, axis_name="i")
    """


class MissingRuleError(WeftError, NotImplementedError):
    """An operation has no rule to differentiate, map or compile it.

    Usual causes:
      Derivatives of an operation that is not differentiable, or of a callback; a primitive of one's
      own that lacks a rule.

    Cures:
      * If no derivative is wanted, `lax.stop_gradient` on the argument.
      * State the derivative: `weft.custom_jvp`, `weft.custom_vjp`.
      * For one's own primitive, define the rule: `@p.jvp`, `@p.transpose`, `@p.batch`, `@p.lower`.

    Example::

        @weft.grad
        def f(x):
            return lax.nextafter(x, 2.0) * x     # fix: lax.stop_gradient(x) as its argument

        f(1.0)
    """


class CheckpointError(WeftError, ValueError):
    """A checkpoint can't be read: it is damaged, cut off, or not a checkpoint.

    Usual causes:
      A copy that was interrupted; a file that was edited; a disk that changed bits; a directory of
      something else.

    Cures:
      * Restore an older one: `Checkpoints.latest(whole=True)` finds the newest that is whole.
      * Copy the whole directory again.

    Example::

        weft.checkpoints.read_metadata(".")  # a directory without a checkpoint in it
    """


class CheckpointMismatchError(CheckpointError, IndexError):
    """A training loop's checkpoint belongs to another model or optimizer.

    Usual causes:
      A model of other sizes; another optimizer; an `output_dir` that another run has used.

    Cures:
      * The model and the optimizer that were saved.
      * Another `output_dir`, or an empty one.

    Example::

        import numpy, tempfile
        from weft import layers as tl, optimizers
        from weft.supervised import training

        folder, x = tempfile.mkdtemp(), numpy.ones((8, 1))
        task = training.TrainTask([(x, x, x)], tl.L2Loss(), optimizers.SGD(0.1))
        training.Loop(tl.Dense(1), task, output_dir=folder).save_checkpoint("model")
        training.Loop(tl.Dense(2), task, output_dir=folder)
    """


class InvalidJaxprError(WeftError, RuntimeError):
    """A program is malformed. Checked only under the switch `enable_checks`.

    Usual causes:
      A bug in weft; a primitive of your own whose type rule contradicts its other rules; or a
      jaxpr that was built by hand.

    Cures:
      * The message shows the program and the equation: look at the rules of its primitive.
      * Otherwise report it, with the program that led to it.

    Example::

        import numpy
        from weft.extend import Primitive

        halved = Primitive("halved")
        halved.type(lambda x: x)             # should be: lambda x: x.update(shape=(2,))
        halved.evaluate(lambda x: x[::2])
        with weft.enable_checks(True):
            halved(np.ones(4))
    """


class DeletedArrayError(WeftError, RuntimeError):
    """An array is used after its memory was donated or freed.

    Usual causes:
      The array was passed in an argument of `donate_argnums`, which lets the program write its
      results there; or `x.delete()` was called.

    Cures:
      * Use the function's result instead: `state = step(state)`.
      * Don't donate an argument that is needed afterwards, or donate a copy.

    Example::

        x = np.ones(3)
        x.delete()
        x + 1
    """


class CompilationError(WeftError, RuntimeError):
    """XLA could not compile a program.

    Usual causes:
      The device's memory is too small for the program; an operation, dtype or size that this
      platform lacks. A message about the program's text is a bug in weft.

    Cures:
      * Try `WEFT_PLATFORM=cpu`: if that works, the platform is the cause.
      * `jit(f).lower(x).as_text()` is the program; send it with a report.

    Example::

        weft.jit(np.sin, compiler_options={"xla_no_such_option": True})(np.ones(3))
    """


class ExecutionError(WeftError, RuntimeError):
    """A compiled program, or a transfer to or from a device, failed while it ran.

    Usual causes:
      The device is out of memory; an exception in a callback; a lost device or host.

    Cures:
      * Memory: smaller batches, `weft.checkpoint` around layers, `donate_argnums`.
      * The failure may show at a later line than the one that caused it, since programs run in
        the background; `.block_until_ready()` after each step shows which.

    Example::

        weft.jit(lambda: np.ones((2**31, 2**20)))()     # 8,192 TiB
    """


def see(error: type[WeftError]) -> str:
    """The last line of a message about an error whose class has a page of causes and cures.

    Example:
      >>> see(TracerBoolConversionError)
      '  more: help(weft.errors.TracerBoolConversionError)'
    """
    return f"  more: help(weft.errors.{error.__name__})"
