"""Random typed programs, as Python text. Hypothesis draws their numbers; a failure prints the text.

A program takes arrays of float32, bfloat16, complex64, int32 and bool, and applies operations to
values made before. It can be run `wide` as well: then the inexact types are float64 and complex128,
for which finite differences are exact enough.

Integers and booleans have to come out bit for bit. So what jumps (comparisons, floor, argmax) is
applied only to values that are `exact`: those that no rounding has touched.
"""

import math
import random
import re

import ml_dtypes
import numpy as onp

import weft
import weft.numpy as np
from weft import lax

NARROW = {
    "f32": onp.dtype("float32"),
    "bf16": onp.dtype(ml_dtypes.bfloat16),
    "c64": onp.dtype("complex64"),
    "i32": onp.dtype("int32"),
    "b1": onp.dtype("bool"),
}
WIDE = NARROW | {
    "f32": onp.dtype("float64"),
    "bf16": onp.dtype("float64"),
    "c64": onp.dtype("complex128"),
}
REAL, INEXACT, NUMBERS = ("f32", "bf16"), ("f32", "bf16", "c64"), ("f32", "bf16", "c64", "i32")
ANY = (*NUMBERS, "b1")
MOST_ELEMENTS = 48


def with_jvp(f):
    """f with its own derivative as a custom rule."""
    g = weft.custom_jvp(f)
    g.defjvp(lambda primals, tangents: weft.jvp(f, primals, tangents))
    return g


def with_vjp(f):
    """f with its own derivative as a custom reverse-mode rule."""
    g = weft.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: weft.vjp(f, x)[1](ct))
    return g


SCOPE = {"np": np, "lax": lax, "weft": weft, "with_jvp": with_jvp}


class Value:
    """What the generator knows of a value.

    Attributes:
      exact: no rounding has touched it.
      coarse: bfloat16 has.
    """

    def __init__(self, name, kind, shape, exact, coarse):
        self.name, self.kind, self.shape = name, kind, tuple(shape)
        self.exact, self.coarse = exact, coarse

    def __repr__(self):
        return f"{self.kind}[{','.join(map(str, self.shape))}]"


class Program:
    """A function as text, with what is known of its arguments and results."""

    def __init__(self, inputs, steps, outputs, seed):
        self.inputs, self.steps, self.outputs, self.seed = inputs, steps, outputs, seed
        names = ", ".join(v.name for v in inputs)
        lines = [f"def program({names}):  # {', '.join(map(repr, inputs))}"]
        lines += [f"    {v.name} = {text}  # {v}" for v, text in steps]
        lines.append(f"    return {', '.join(v.name for v in outputs)},")
        self.text = "\n".join(lines)
        self.code = compile(self.text, "<program>", "exec")
        # what some laws can't have
        self.stops, self.loops = "stop_gradient" in self.text, "while_loop" in self.text

    def __repr__(self):
        return f"\n{self.text}\n# numbers: seed {self.seed}\n"

    def function(self, wide=False, forward=False):
        """The Python function; `forward` without rules that are for reverse mode only."""
        scope = dict(SCOPE, **(WIDE if wide else NARROW))
        scope["with_vjp"] = (lambda f: f) if forward else with_vjp
        exec(self.code, scope)
        return scope["program"]

    def numbers(self, wide=False, batch=()):
        """Arguments, and the generator they come from."""
        rng = onp.random.default_rng(self.seed)
        dtypes = WIDE if wide else NARROW
        return [
            drawn(rng, v.kind, (*batch, *v.shape)).astype(dtypes[v.kind]) for v in self.inputs
        ], rng

    def inexact(self):
        """Which arguments can be differentiated in."""
        return tuple(i for i, v in enumerate(self.inputs) if v.kind in INEXACT)


def drawn(rng, kind, shape):
    """Random elements. Those of bfloat16 are ones of it, in the wide program too."""
    if kind == "b1":
        return rng.integers(0, 2, shape).astype(bool)
    if kind == "i32":
        limit = 4 if rng.integers(4) else 2**31
        return rng.integers(-limit, limit, shape)
    x = rng.normal(size=shape)
    if kind == "c64":
        return x + 1j * rng.normal(size=shape)
    return x.astype(ml_dtypes.bfloat16 if kind == "bf16" else onp.float32).astype(onp.float64)


# --- expressions of one value, that keep its kind and shape ---

SMOOTH = (
    "np.sin({})",
    "np.cos({})",
    "np.tanh({})",
    "-{}",
    "np.exp(np.sin({}))",
    "np.log(2.0 + np.cos({}))",
    "np.sqrt(1.0 + {0} * {0})",
    "0.2 * {}**2",
    "1.0 / (1.0 + np.exp(-{}))",
    "np.arctan({})",
    "({} * 0.5 - 1.0)",
    "np.maximum({}, 0.0)",
    "np.abs({})",
    "np.clip({}, -0.71, 0.83)",
    "np.expm1(0.3 * {})",
)
COMPLEX = (
    "{} * (0.6 - 0.5j)",
    "np.conj({})",
    "np.exp(0.3j * {})",
    "0.3 * {0} * {0}",
    "np.sin(0.5 * {})",
    "1.0 / (3.0 + np.tanh(0.2 * {}))",
    "(np.real({0}) - 0.5 * np.imag({0}) + 1j * np.imag({0}))",
)
INTEGER = (
    "-{}",
    "~{}",
    "np.abs({})",
    "{0} * {0} * {0}",
    "({} >> 2)",
    "({} << 1)",
    "np.sign({})",
    "({} // 3)",
    "{} % 5",
    "np.where({0} > 0, {0}, 7)",
    "{}.astype(np.int8).astype(i32)",
    "lax.population_count({})",
)
UNARY = {"f32": SMOOTH, "bf16": SMOOTH, "c64": COMPLEX, "i32": INTEGER, "b1": ("~{}",)}

BINARY = {
    "real": (
        "({0} + {1})",
        "({0} - {1})",
        "0.4 * {0} * {1}",
        "{0} / (1.5 + np.cos({1}))",
        "np.arctan2({0}, 2.0 + {1} * {1})",
        "(1.0 + {0} * {0}) ** np.sin({1})",
        "np.maximum({0}, {1})",
        "np.minimum({0}, {1})",
        "np.logaddexp({0}, {1})",
        "np.hypot(1.0 + {0} * {0}, {1})",
    ),
    "c64": ("({0} + {1})", "({0} - np.conj({1}))", "0.4 * {0} * {1}", "{0} / (3.0 + np.tanh({1}))"),
    "i32": (
        "({0} + {1})",
        "({0} - {1})",
        "{0} * {1}",
        "({0} // {1})",
        "({0} % {1})",
        "({0} & {1})",
        "({0} | {1})",
        "({0} ^ {1})",
        "({0} << ({1} & 31))",
        "({0} >> ({1} & 31))",
        "np.maximum({0}, {1})",
        "np.minimum({0}, {1})",
        "lax.div(*np.broadcast_arrays({0}, {1}))",
        "lax.rem(*np.broadcast_arrays({0}, {1}))",
    ),
    "b1": ("({0} & {1})", "({0} | {1})", "({0} ^ {1})"),
}
PROMOTED = {
    frozenset(("f32", "bf16")): "f32",
    frozenset(("f32", "i32")): "f32",
    frozenset(("bf16", "i32")): "bf16",
    frozenset(("c64", "f32")): "c64",
    frozenset(("c64", "i32")): "c64",
}


def fits(shape):
    return math.prod(shape) <= MOST_ELEMENTS and len(shape) <= 4


class Builder:
    """Draws steps. Each method adds one, or none where there is nothing to apply it to."""

    def __init__(self, number, kinds, longest):
        self.random, self.kinds, self.longest = random.Random(number), kinds, longest
        self.values, self.steps = [], []

    # --- drawing ---

    def one_of(self, items):
        return self.random.choice(list(items))

    def chance(self):
        return self.random.random() < 0.5

    def pick(self, kinds=ANY, where=lambda v: True):
        """A value of those kinds, or `None`."""
        found = [v for v in self.values if v.kind in kinds and where(v)]
        return self.one_of(found) if found else None

    def add(self, text, kind, shape, *operands, exact=None, coarse=False):
        """A step. Exact are integers and booleans, and what only moves elements that are."""
        if not fits(shape):
            return
        if exact is None:
            exact = kind in ("i32", "b1")
        coarse = coarse or kind == "bf16" or any(v.coarse for v in operands)
        value = Value(f"x{len(self.values)}", kind, shape, exact, coarse and kind in INEXACT)
        self.values.append(value)
        self.steps.append((value, text))

    def moved(self, text, shape, *operands):
        """A step that only moves elements."""
        self.add(text, operands[0].kind, shape, *operands, exact=all(v.exact for v in operands))

    # --- steps ---

    def unary(self):
        x = self.pick(self.kinds)
        self.add(self.one_of(UNARY[x.kind]).format(x.name), x.kind, x.shape, x)

    def jumping(self):
        x = self.pick(("f32", "bf16"), lambda v: v.exact)
        if x:
            text = self.one_of((
                "np.where({0} > 0.1, np.sin({0}), {0} * 0.3)",
                "({0} - np.floor({0}))",
                "{0} * np.sign({0} - 0.05)",
            ))  # fmt: skip
            self.add(text.format(x.name), x.kind, x.shape, x)

    def stopped(self):
        x = self.pick(REAL)
        if x and self.random.random() < 0.3:
            self.add(f"lax.stop_gradient({x.name}) * {x.name}", x.kind, x.shape, x)

    def binary(self):
        x = self.pick(self.kinds)
        y = self.pick(self.kinds)
        kind = x.kind if x.kind == y.kind else PROMOTED.get(frozenset((x.kind, y.kind)))
        try:
            shape = onp.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return
        if kind is None:
            return
        a, b = (f"({v.name} % 7)" if v.kind == "i32" != kind else v.name for v in (x, y))
        if kind != x.kind or kind != y.kind:  # mixed: what promotes
            text = self.one_of(("({0} + {1})", "({0} - {1})", "0.4 * ({0} * {1})"))
        else:
            text = self.one_of(BINARY["real" if kind in REAL else kind])
        self.add(text.format(a, b), kind, shape, x, y)

    def compared(self):
        x = self.pick(("f32", "bf16", "i32"), lambda v: v.exact)
        if not x:
            return
        y = self.pick((x.kind,), lambda v: v.exact and v.shape == x.shape)
        sign = self.one_of(("<", "<=", ">", ">=", "==", "!="))
        right = y.name if self.chance() else "0.1" if x.kind in REAL else "1"
        self.add(f"({x.name} {sign} {right})", "b1", x.shape, x)

    def converted(self):
        x = self.pick(ANY)
        to = self.one_of({
            "f32": ("bf16", "c64", "i32"),
            "bf16": ("f32", "i32"),
            "c64": ("f32",),
            "i32": ("f32", "bf16", "b1"),
            "b1": ("i32", "f32", "c64"),
        }[x.kind])  # fmt: skip
        if to not in self.kinds and to != "b1":
            return
        if x.kind == "c64":
            part = self.one_of(("np.real({})", "np.imag({})", "np.abs(4.0 + np.tanh(0.1 * {}))"))
            self.add(part.format(x.name), "f32", x.shape, x)
        elif to == "c64" and x.kind == "f32":
            self.add(f"lax.complex({x.name}, np.sin({x.name}))", "c64", x.shape, x)
        elif to == "i32" and x.kind in REAL:
            if x.exact:
                self.add(f"np.floor({x.name} * 4).astype(i32)", "i32", x.shape, x)
        elif to in REAL and x.kind == "i32":
            self.add(f"({x.name} % 7).astype({to})", to, x.shape, x, exact=True)
        elif to == "b1":
            self.add(f"({x.name} % 2).astype(bool)", "b1", x.shape, x)
        else:
            exact = x.exact and to != "bf16"
            self.add(f"{x.name}.astype({to})", to, x.shape, x, exact=exact)

    def selected(self):
        x = self.pick(ANY)
        y = self.pick((x.kind,), lambda v: v.shape == x.shape)
        b = self.pick(("b1",), lambda v: v.shape in ((), x.shape))
        if b:
            self.moved(f"np.where({b.name}, {x.name}, {y.name})", x.shape, x, y)

    def reduced(self):
        x = self.pick(ANY, lambda v: v.shape)
        if not x:
            return
        axis = self.one_of([None, *range(-len(x.shape), len(x.shape))])
        keep = self.chance()
        out = onp.sum(onp.zeros(x.shape), axis=axis, keepdims=keep).shape
        options = f"axis={axis}, keepdims={keep}"
        if x.kind == "b1":
            name = self.one_of(("any", "all", "sum"))
            text = f"np.{name}({x.name}, {options})"
            if name == "sum":
                self.add(f"{text}.astype(i32)", "i32", out, x)
            else:
                self.add(text, "b1", out, x)
        elif x.kind == "i32":
            name = self.one_of(("sum", "prod", "max", "min"))
            self.add(f"np.{name}({x.name}, {options}).astype(i32)", "i32", out, x)
        elif x.kind == "c64":
            self.add(f"np.{self.one_of(('sum', 'mean'))}({x.name}, {options})", "c64", out, x)
        else:
            name = self.one_of(("sum", "mean", "max", "min", "prod", "deviation"))
            text = {
                "prod": f"np.prod(0.8 + 0.3 * np.sin({x.name}), {options})",
                "deviation": f"np.sqrt(0.3 + np.var({x.name}, {options}))",
            }.get(name, f"np.{name}({x.name}, {options})")
            self.add(text, x.kind, out, x, exact=x.exact and name in ("max", "min"))

    def running(self):
        x = self.pick(NUMBERS, lambda v: v.shape)
        if not x:
            return
        axis = self.random.randint(-len(x.shape), len(x.shape) - 1)
        names = {"i32": ("cumsum", "cumprod", "sort", "argsort", "cummax"), "c64": ("cumsum",)}
        name = self.one_of(names.get(x.kind, ("cumsum", "sort", "argsort", "argmax", "cummax")))
        if name in ("argsort", "argmax"):
            if not x.exact:
                return
            out = x.shape if name == "argsort" else onp.delete(x.shape, axis)
            self.add(f"np.{name}({x.name}, axis={axis}).astype(i32)", "i32", out, x)
        elif name == "sort":
            self.moved(f"np.sort({x.name}, axis={axis})", x.shape, x)
        elif name == "cummax":
            self.moved(f"lax.cummax({x.name}, axis={axis % len(x.shape)})", x.shape, x)
        else:
            text = f"np.{name}({x.name}, axis={axis})"
            self.add(text + (".astype(i32)" if x.kind == "i32" else ""), x.kind, x.shape, x)

    def rearranged(self):
        x = self.pick(ANY)
        shape, n = x.shape, len(x.shape)
        if not shape:
            self.moved(f"{x.name}[None, None]", (1, 1), x)
            return
        axis = self.random.randint(0, n - 1)
        order = tuple(self.random.sample(range(n), n))
        long = list(shape)
        long[axis] *= 2
        choices = {
            f"np.transpose({{}}, {order})": tuple(shape[i] for i in order),
            "np.reshape({}, (-1,))": (math.prod(shape),),
            f"np.expand_dims({{}}, {axis})": (*shape[:axis], 1, *shape[axis:]),
            f"np.broadcast_to({{}}, {(2, *shape)})": (2, *shape),
            f"np.flip({{}}, {axis})": shape,
            f"np.roll({{}}, 1, {axis})": shape,
            f"np.repeat({{}}, 2, axis={axis})": long,
            f"np.tile({{}}, {tuple(1 + (i == axis) for i in range(n))})": long,
            f"np.concatenate([{{0}}, {{0}}[::-1]], axis={axis})": long,
            f"np.stack([{{0}}, {{0}}], axis={axis})": (*shape[:axis], 2, *shape[axis:]),
        }
        text = self.one_of(choices)
        self.moved(text.format(x.name), choices[text], x)

    def joined(self):
        x = self.pick(ANY, lambda v: v.shape)
        if not x:
            return
        axis = self.random.randint(0, len(x.shape) - 1)
        rest = onp.delete(x.shape, axis).tolist()
        y = self.pick(
            (x.kind,),
            lambda v: len(v.shape) == len(x.shape) and onp.delete(v.shape, axis).tolist() == rest,
        )
        out = list(x.shape)
        out[axis] += y.shape[axis]
        self.moved(f"np.concatenate([{x.name}, {y.name}], axis={axis})", out, x, y)

    def padded(self):
        x = self.pick(NUMBERS, lambda v: v.shape)
        if x:
            low, high = self.random.randint(0, 1), self.random.randint(-1, 1)
            if x.shape[0] + low + high > 0:
                config = [(low, high, 0)] + [(0, 0, 0)] * (len(x.shape) - 1)
                zero = f"np.zeros((), {x.kind})"
                out = (x.shape[0] + low + high, *x.shape[1:])
                self.moved(f"lax.pad({x.name}, {zero}, {config})", out, x)

    def sliced(self):
        x = self.pick(ANY, lambda v: v.shape)
        if not x:
            return
        n = x.shape[0]
        index = self.one_of((
            str(self.random.randint(-n, n - 1)), "::-1", "::2", f"{n // 2}:", "..., 0", "None",
            f"onp.array({[self.random.randint(-n, n - 1) for _ in range(self.one_of((1, 2, 3)))]})",
        ))  # fmt: skip
        out = eval(f"x[{index}]", {"x": onp.zeros(x.shape), "onp": onp}).shape
        index = index.replace("onp.array", "np.array")
        if self.chance():
            self.moved(f"{x.name}[{index}]", out, x)
        elif x.kind in NUMBERS:
            change = self.one_of(("set(2)", "add(3)", "multiply(2)"))
            self.add(f"{x.name}.at[{index}].{change}", x.kind, x.shape, x)

    def gathered(self):
        """By indices that the program computes."""
        x = self.pick(NUMBERS, lambda v: v.shape)
        i = self.pick(("i32",), lambda v: len(v.shape) < 2)
        if not x or not i:
            return
        n = x.shape[0]
        place = f"{i.name} % {n}"
        form = self.one_of(("index", "take", "slice", "update", "add", "max"))
        if form == "index":
            self.moved(f"{x.name}[{place}]", (*i.shape, *x.shape[1:]), x)
        elif form == "take":
            mode = self.one_of(("wrap", "clip"))
            text = f"np.take({x.name}, {i.name}, axis=0, mode={mode!r})"
            self.moved(text, (*i.shape, *x.shape[1:]), x)
        elif not i.shape and form == "slice":
            size = self.random.randint(1, n)
            text = f"lax.dynamic_slice_in_dim({x.name}, {i.name} % 3, {size})"
            self.moved(text, (size, *x.shape[1:]), x)
        elif not i.shape and form == "update":
            text = f"lax.dynamic_update_index_in_dim({x.name}, {x.name}[0] * 2, {place}, 0)"
            self.add(text, x.kind, x.shape, x)
        elif form == "max" and x.kind != "c64":
            self.add(f"{x.name}.at[{place}].max(1)", x.kind, x.shape, x)
        elif form == "add":
            self.add(f"{x.name}.at[{place}].add({x.name}[-1])", x.kind, x.shape, x)

    def multiplied(self):
        x = self.pick(NUMBERS, lambda v: v.shape)
        if not x:
            return
        y = self.pick((x.kind,), lambda v: v.shape)
        name = self.one_of(("matmul", "dot", "outer"))
        try:
            out = onp.shape(getattr(onp, name)(onp.zeros(x.shape), onp.zeros(y.shape)))
        except ValueError:
            return
        scale = "" if x.kind == "i32" else "0.3 * "
        self.add(f"{scale}np.{name}({x.name}, {y.name})", x.kind, out, x, y)

    # --- steps with a program inside ---

    def body(self, kind, shape, variable):
        """An expression in a variable that keeps kind and shape; it may close over a value."""
        text = self.one_of(UNARY[kind]).format(variable)
        if self.chance():
            text = self.one_of(UNARY[kind]).format(f"({text})")
        captured = []
        if self.chance():
            y = self.pick((kind,), lambda v: v.shape in ((), tuple(shape)))
            if y:
                captured.append(y)
                text = f"({text}) + {y.name}"
        return text, captured

    def called(self):
        x = self.pick(self.kinds, lambda v: v.kind != "b1")
        if not x:
            return
        text, used = self.body(x.kind, x.shape, "v")
        how = ["weft.jit(lambda v: {})({})", "weft.checkpoint(lambda v: {})({})"]
        if x.kind in INEXACT and not used:  # a rule says nothing of what it closes over
            how += ["with_jvp(lambda v: {})({})", "with_vjp(lambda v: {})({})"]
        form = self.one_of(how)
        self.add(form.format(text, x.name), x.kind, x.shape, x, *used)

    def branched(self):
        x = self.pick(self.kinds, lambda v: v.kind != "b1")
        b = self.pick(("b1", "i32"))
        if not x or not b:
            return
        if b.kind == "b1":
            (one, used), (other, more) = (self.body(x.kind, x.shape, "v") for _ in range(2))
            text = f"lax.cond(np.any({b.name}), lambda v: {one}, lambda v: {other}, {x.name})"
        else:
            one, used = self.body(x.kind, x.shape, "v")
            other, more = self.body(x.kind, x.shape, "v")
            which = b.name if not b.shape else f"np.sum({b.name}).astype(i32)"
            branches = f"[lambda v: v, lambda v: {one}, lambda v: {other}]"
            text = f"lax.switch({which} % 4, {branches}, {x.name})"
        self.add(text, x.kind, x.shape, x, *used, *more)

    def looped(self):
        x = self.pick(self.kinds, lambda v: v.kind != "b1")
        if not x:
            return
        count = self.pick(("i32",), lambda v: not v.shape)
        limit = f"{count.name} % 4" if count else "3"
        text, used = self.body(x.kind, x.shape, "s[1]" if (dynamic := self.one_of((0, 1))) else "v")
        if dynamic:
            step = f"lambda s: (s[0] + 1, {text})"
            text = f"lax.while_loop(lambda s: s[0] < {limit}, {step}, (0, {x.name}))[1]"
        else:
            text = f"lax.fori_loop(0, 3, lambda i, v: {text}, {x.name})"
        self.add(text, x.kind, x.shape, x, *used)

    def scanned(self):
        x = self.pick(self.kinds, lambda v: v.kind != "b1" and v.shape)
        if not x:
            return
        row = x.shape[1:]
        text, used = self.body(x.kind, row, "(c + s)")
        reverse = self.chance()
        call = f"lax.scan(lambda c, s: ({text}, c * s), {x.name}[0], {x.name}, reverse={reverse})"
        last = self.chance()
        shape = row if last else x.shape
        self.add(f"{call}[{0 if last else 1}]", x.kind, shape, x, *used)

    def mapped(self):
        x = self.pick(self.kinds, lambda v: v.kind != "b1" and v.shape)
        if x:
            text, used = self.body(x.kind, x.shape[1:], "v")
            how = ["weft.vmap(lambda v: {})({})", "lax.map(lambda v: {}, {})"]
            if x.kind in INEXACT:
                how.append("weft.vmap(lambda v: ({}) - 0.5 * lax.pmean(v, 'i'), axis_name='i')({})")
            self.add(self.one_of(how).format(text, x.name), x.kind, x.shape, x, *used)

    def differentiated(self):
        x = self.pick(REAL)
        if x:
            body = self.one_of(SMOOTH[:6]).format("v")
            text = self.one_of((
                f"weft.grad(lambda v: np.sum({body}))({x.name})",
                f"weft.jvp(lambda v: {body}, ({x.name},), (np.cos({x.name}),))[1]",
            ))  # fmt: skip
            self.add(text, x.kind, x.shape, x)

    # --- the whole ---

    STEPS = (
        unary, unary, binary, binary, binary, jumping, stopped, compared, converted, converted,
        selected, reduced, reduced, running, rearranged, rearranged, joined, padded, sliced, sliced,
        gathered, gathered, multiplied, called, called, branched, looped, scanned, mapped,
        differentiated,
    )  # fmt: skip

    def program(self, need):
        count = self.random.randint(1, 4)
        for i in range(count):
            kind = need if i == 0 and need else self.one_of(self.kinds)
            shape = tuple(self.random.randint(1, 3) for _ in range(self.random.randint(0, 3)))
            self.values.append(Value(f"x{i}", kind, shape, True, kind == "bf16"))
        inputs = list(self.values)
        goal = self.random.randint(2, self.longest)
        for _ in range(3 * goal):
            if len(self.steps) == goal:
                break
            self.one_of(self.STEPS)(self)
        outputs = [self.values[-1]]
        if self.chance():
            outputs.append(self.one_of(self.values))
        seed = self.random.randint(0, 1000)
        return Program(inputs, self.steps, outputs, seed)


def without(program, unwanted):
    """The program without some steps: an earlier value of the type stands for each one's result.

    Where there is none the step stays; what nothing needs any more goes.
    """
    names, steps = {}, []
    known = list(program.inputs)

    def renamed(text):
        return re.sub(r"\bx\d+\b", lambda m: names.get(m[0], m[0]), text)

    for (value, text), drop in zip(program.steps, unwanted, strict=True):
        like = [
            v
            for v in known
            if (v.kind, v.shape) == (value.kind, value.shape) and v.exact >= value.exact
        ]
        if drop and like:
            names[value.name] = like[0].name
        else:
            steps.append((value, renamed(text)))
            known.append(value)
    by_name = {v.name: v for v in known}
    outputs = [by_name[names.get(v.name, v.name)] for v in program.outputs]
    needed, kept = {v.name for v in outputs}, []
    for value, text in reversed(steps):
        if value.name in needed:
            needed.update(re.findall(r"\bx\d+\b", text))
            kept.append((value, text))
    return Program(program.inputs, kept[::-1], outputs, program.seed)


def simplest(program, fails):
    """The program with as many steps left out as can be, so that it still fails."""
    for i in range(len(program.steps)):
        smaller = without(program, [k == i for k in range(len(program.steps))])
        if len(smaller.steps) < len(program.steps) and fails(smaller):
            return simplest(smaller, fails)
    return program


def program_of(number, kinds=ANY, longest=7, need=None):
    """The program with a number: over values of some kinds, with an argument of the kind `need`."""
    return Builder(number, kinds, longest).program(need)
