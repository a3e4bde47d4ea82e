"""Steps that fail, a program that runs them under `replay_dir`, and one that replays their files.

    python failing_steps.py run FOLDER             what should be replayed, as JSON
    python failing_steps.py kill SIGNAL FOLDER     dies in a step
    python failing_steps.py replay FILE …          what is replayed, as JSON

A step is a function, with its arguments and with what makes it fail. Its line that fails has the
comment "fails". The operation that makes a NaN is looked for here by another way than weft's: every
equation is run in order, with the steps of loops one after the other.
"""

import glob
import hashlib
import json
import os
import signal
import sys
import warnings

import numpy as onp

import weft
import weft.numpy as np
from weft import explanation, grad, jit, lax, layers, random, vmap
from weft.core.jaxpr import Var
from weft.experimental import checkify

HERE = os.path.basename(__file__)
X = onp.array([4.0, 1.0, -2.0], onp.float32)
STEPS = {}


def step(*args, error="", **options):
    """Decorates a step.

    Args:
      error: the beginning of the error that it raises; empty if its results have a NaN.
      options: `switches`, `equation` (the primitive that fails with an error), `jitted` (its call).
    """

    def decorate(f):
        STEPS[f.__name__] = f, args, error, options
        return f

    return decorate


# --- a NaN or an infinity ---


@step(X)
def forward(x):
    y = np.log(x)  # fails
    return np.sum(y * 2)


def masked(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0))  # fails


@step(onp.array([1.0, 0.0], onp.float32))
def backward(x):
    return grad(masked)(x)


@step(onp.float32(5), onp.arange(8, dtype=onp.float32))
def scan_step(carry, xs):
    def body(c, x):
        c = np.sqrt(c - x)  # fails
        return c, c

    return lax.scan(body, carry, xs)


@step(onp.float32(3))
def while_step(x):
    return lax.while_loop(lambda x: x > -5, lambda x: np.log(x) - 1, x)  # fails


@step(onp.array([3.0, -1.0], onp.float32))
def branch(x):
    return lax.cond(x[0] > 0, lambda x: np.sqrt(x), lambda x: x, x)  # fails


@step(X)
def mapped(x):
    return vmap(lambda x: 1 / np.arccosh(x))(x)  # fails


@step({"w": X, "m": X * 0, "v": -X}, X)
def optimizer_step(params, x):
    g = grad(lambda w: np.sum((w * x) ** 2))(params["w"])
    m = 0.9 * params["m"] + 0.1 * g
    update = m / np.sqrt(params["v"])  # fails
    return {"w": params["w"] - update, "m": m, "v": params["v"]}


@weft.custom_vjp
def clipped(x):
    return x


def clipped_bwd(n, ct):
    return (ct / (n - n),)  # fails


clipped.defvjp(lambda x: (x, np.sum(x * 0)), clipped_bwd)


@step(X)
def custom_vjp_rule(x):
    return grad(lambda x: np.sum(clipped(x) * 0))(x)


@weft.custom_jvp
def rooted(x):
    return np.sqrt(x)  # fails


rooted.defjvp(lambda p, t: (rooted(p[0]), t[0]))


@step(X)
def custom_jvp_function(x):
    return rooted(x) + 1


@step(X * 100)
def overflow(x):
    return np.exp(x) - 1  # fails


@step(X)
def rematerialised(x):
    return weft.checkpoint(lambda x: np.log(x) * 2)(x)  # fails


@step(random.PRNGKey(7), onp.float32(3))
def random_key_inside(key, x):
    noise = random.normal(random.split(key)[1], (16,))
    return np.sqrt(noise * x)  # fails


@step(random.key(7))
def typed_key(key):
    return np.log(random.uniform(key, (8,)) - 0.5)  # fails


@step(X.astype(onp.float64), switches={"enable_x64": True})
def wide(x):
    return np.log(x + 1e-12)  # fails


@step(X)
def bfloat16(x):
    return np.sqrt(x.astype("bfloat16") * 3)  # fails


@step(X, jitted={"donate_argnums": 0})
def donated(x):
    return np.sqrt(x) + 1  # fails


@step(X)
def in_inner_jit(x):
    return jit(lambda x: np.log(x) + 1)(x) * 2  # fails


def logarithm(x):
    return np.log(x)  # fails


MODEL = layers.Serial(layers.Dense(4), layers.Fn("Log", logarithm), layers.Dense(2))
MODEL.init(weft.ShapeDtypeStruct((2, 3), "float32"), rng=random.PRNGKey(0))


@step(MODEL.weights, onp.stack([X, X]))
def model_of_layers(weights, x):
    return MODEL.pure_fn(x, weights, MODEL.state, random.PRNGKey(0))[0]


MESH = weft.sharding.Mesh(weft.devices(), "d")  # of all devices of the process that fails
ROWS = weft.sharding.NamedSharding(MESH, weft.sharding.PartitionSpec("d"))


@step(onp.arange(-4, 4, dtype=onp.float32))
def constrained(x):
    x = lax.with_sharding_constraint(x * 2, ROWS)
    return np.log(np.abs(x) - x - 4)  # fails


@step(onp.arange(8, dtype=onp.float32), equation="sqrt")
def mapped_over_devices(x):
    def part(x):
        return np.sqrt(x - lax.pmean(x, "d"))  # fails

    return weft.shard_map(part, mesh=MESH, in_specs=ROWS.spec, out_specs=ROWS.spec)(x)


# --- errors ---


@step(X, error="FloatingPointError: log: made a NaN", switches={"debug_nans": True})
def under_debug_nans(x):
    return np.log(x) * 2  # fails


@step(X * 100, error="FloatingPointError: exp: made an inf", switches={"debug_infs": True})
def under_debug_infs(x):
    return np.exp(x) * 2  # fails


def refuse_large(x):
    if x > 2:
        raise ValueError(f"{float(x)} is too large")


@step(onp.arange(5, dtype=onp.float32), error="ValueError: 3.0 is", equation="io_callback")
def callback_raises(xs):
    def body(c, x):
        weft.debug.callback(refuse_large, x)  # fails
        return c + x, None

    return lax.scan(body, 0.0, xs)


def checked(x):
    checkify.check(x > 0, "{} must be positive", x)  # fails
    return x * 2


@step(onp.float32(-1), error="a check failed: -1.0 must be", equation="check")
def check(x):
    return checkify.checkify(checked)(x)


@step(onp.float32(1), error="XlaRuntimeError: out_of_memory: out of memory", equation="add")
def out_of_memory(x):
    return np.broadcast_to(x, (1 << 44,)) + np.broadcast_to(2 * x, (1 << 44,))  # fails


def die(x):
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))


@jit
def killed(x):
    y = weft.pure_callback(die, x, np.exp(x))  # fails
    return y + 1


# --- the search ---


class Found(Exception):
    pass


def has_nan(arrays, test):
    hosts = [onp.asarray(x.host()) for x in arrays if x.aval.inexact]
    return any(test(h.astype(onp.complex128)).any() for h in hosts)


def look(jaxpr, args, test, inside=()):
    """Runs a program; raises Found(equation, inside, inputs) for the first one that makes a NaN."""
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*jaxpr.consts, *args], strict=True))
    for e in jaxpr.equations:
        inputs = [values[v] if isinstance(v, Var) else v for v in e.inputs]
        p = dict(e.params)
        name = e.primitive.name
        if name == "scan":
            nc, nk = p["num_consts"], p["num_carry"]
            consts, carry, xs = inputs[:nc], inputs[nc : nc + nk], inputs[nc + nk :]
            for i in range(p["length"]):
                step_args = [*consts, *carry, *[x[i] for x in xs]]
                carry = look(p["jaxpr"], step_args, test, (*inside, f"step {i} of scan"))[:nk]
        elif name == "while_loop":
            nc, nb = p["cond_nconsts"], p["body_nconsts"]
            carry, i = inputs[nc + nb :], 0
            while look(p["cond_jaxpr"], [*inputs[:nc], *carry], test)[0]:
                body_args = [*inputs[nc : nc + nb], *carry]
                where = (*inside, f"step {i} of while_loop")
                carry, i = look(p["body_jaxpr"], body_args, test, where), i + 1
        elif name == "cond":
            i = int(inputs[0])
            look(p["branches"][i], inputs[1:], test, (*inside, f"branch {i} of cond"))
        elif "jaxpr" in p:
            look(p["jaxpr"], inputs, test, inside)
        outs = e.primitive.bind(*inputs, **p)
        outs = outs if e.primitive.multiple else [outs]
        if has_nan(outs, test) and not has_nan(inputs, test):
            raise Found(e, inside, inputs)
        values.update(zip(e.outvars, outs, strict=True))
    return [values[v] if isinstance(v, Var) else v for v in jaxpr.outvars]


def digests(arrays):
    """The types and the digests of the bits of arrays."""
    return [
        f"{x.aval} {hashlib.sha256(onp.asarray(x.host()).tobytes()).hexdigest()}"
        for x in arrays
        if x.size < 1 << 30
    ]


def expected(name):
    """Runs a step, and what its replay should give."""
    f, args, error, options = STEPS[name]
    jitted = jit(f, **options.get("jitted", {}))
    args = [np.array(a) if isinstance(a, onp.ndarray) and "jitted" in options else a for a in args]
    with weft.config.temporarily(**options.get("switches", {})):
        program = jitted.trace(*args).jaxpr
        leaves = [np.array(x) for x in weft.tree_util.tree_leaves(args)]
        try:
            jitted(*args)
            text = ""
        except Exception as e:  # every kind
            text = f"{type(e).__name__}: {e}"
        if name != "check" and not (text.startswith(error) if error else not text):
            raise AssertionError(f"{name}: {text}")
        if "equation" in options:
            return {"equation": options["equation"]}
        test = onp.isinf if name in ("overflow", "under_debug_infs") else onp.isnan
        with weft.config.temporarily(replay_dir=None, debug_nans=False, debug_infs=False):
            try:
                look(program, leaves, test)
            except Found as found:
                e, inside, inputs = found.args
                return {
                    "equation": e.primitive.name,
                    "line": e.source.line,
                    "backward": e.source.backward,
                    "inside": inside,
                    "inputs": digests(inputs),
                }
    raise AssertionError(f"{name}: nothing failed")


def run(folder):
    results = {}
    for name in STEPS:
        with weft.config.temporarily(replay_dir=os.path.join(folder, "new")):
            results[name] = expected(name)
        paths = glob.glob(os.path.join(folder, "new", "*"))
        results[name]["files"] = [os.path.basename(path) for path in paths]
        for path in paths:  # a process removes its older files, where it left them
            os.rename(path, os.path.join(folder, name))
    print(json.dumps(results))


def replay(paths):
    results = {}
    for path in paths:
        r = explanation.replay(path)
        results[os.path.basename(path)] = {
            "kind": r.kind,
            "equation": r.equation,
            "line": r.line,
            "backward": r.backward,
            "inside": r.inside,
            "inputs": digests(r.inputs),
            "function": r.call.function,
            "text": str(r),
        }
    print(json.dumps(results))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "run":
        run(sys.argv[2])
    elif sys.argv[1] == "kill":
        weft.config.update("replay_dir", sys.argv[3])
        killed(1.0)
    else:
        replay(sys.argv[2:])
