"""Small programs with one fault of speed or memory each, on the line that ends in `# fault`.

A row: the kind of finding that has to name that line, and the program.
"""

HEAD = """
import numpy as onp
import weft
import weft.numpy as np
from weft import grad, jit, lax, nn, random, vmap
"""

FAULTY = {
    "a rate that is a number first, then an array": (
        "retrace: weak type",
        """
step = jit(lambda w, rate: w - rate * w)
w = np.ones(100)
w = step(w, 0.1)
w = step(w, np.float32(0.1))  # fault
print(w.sum())
""",
    ),
    "a table that is closed over": (
        "closure constant",
        """
table = np.asarray(onp.random.default_rng(0).normal(size=(1000, 400)).astype("float32"))

@jit
def score(x):
    return x @ table  # fault

for i in range(3):
    y = score(np.ones(1000) * i)
print(y.sum())
""",
    ),
    "a donation that no result can use": (
        "failed donation",
        """
import warnings
warnings.simplefilter("ignore")

def total(x):
    return np.sum(x * x, axis=1)

total = jit(total, donate_argnums=0)  # fault
print(total(np.ones((1000, 400)) * 2)[0])
""",
    ),
    "NumPy between two jitted functions, in a loop": (
        "host round trip",
        """
forward = jit(lambda x: np.tanh(x) * 2)
x = np.ones(1000)
for i in range(8):
    y = forward(x)
    x = onp.clip(onp.asarray(y), -1, 1)  # fault
print(x.sum())
""",
    ),
    "float64 from NumPy": (
        "float64 by accident",
        """
weft.config.update("enable_x64", True)
scale = onp.linspace(0, 1, 2000)

@jit
def scaled(x, scale):
    y = np.tanh(x)
    return y * scale  # fault

print(scaled(np.ones((50, 2000), "float32"), scale).sum())
weft.config.update("enable_x64", False)
""",
    ),
    "a Python loop under jit": (
        "unrolled loop",
        """
@jit
def settle(x, w):
    for _ in range(60):
        x = np.tanh(x * w)  # fault
    return x

print(settle(np.ones(20), np.ones(20)).sum())
""",
    ),
    "a number that is static, and changes": (
        "retrace: static",
        """
from functools import partial

@partial(jit, static_argnames="rate")  # fault
def step(w, rate):
    return w - rate * w

w = np.ones(100)
for i in range(5):
    w = step(w, rate=0.1 / (i + 1))
print(w.sum())
""",
    ),
    "a length that grows": (
        "retrace: shape",
        """
total = jit(lambda x: np.sum(x * 2))
history = []
for i in range(5):
    history.append(float(i))
    t = total(np.array(history))  # fault
print(t)
""",
    ),
    "an update of an array that is used again": (
        "copy",
        """
@jit
def masked(x):
    x = np.cumsum(x, axis=0)
    y = x.at[0].set(0.0)  # fault
    z = np.sort(y, axis=0)
    return z, x[:5] + z[:5], x

print(masked(np.ones((1000, 500)))[1].sum())
""",
    ),
    "windows by vmap of a slice": (
        "vmap of a gather",
        """
@jit
def variances(x, starts):
    windows = vmap(lambda i: lax.dynamic_slice(x, (i,), (256,)))(starts)  # fault
    return np.sort(windows, axis=1)

print(variances(np.arange(4000.0), np.arange(3000)).sum())
""",
    ),
    "jit inside a loop": (
        "retrace: new function",
        """
x = np.ones(100)
for rate in (0.1, 0.2, 0.3, 0.4):
    x = jit(lambda x: x - rate * x)(x)  # fault
print(x.sum())
""",
    ),
    "the loss is printed at each step": (
        "read in a loop",
        """
loss = lambda w, x: np.mean((x @ w) ** 2)
step = jit(lambda w, x: (w - 0.1 * grad(loss)(w, x), loss(w, x)))
w, x = np.ones(20), np.ones((30, 20))
for i in range(8):
    w, value = step(w, x)
    print("loss", value)  # fault
""",
    ),
    "a decomposition of a constant": (
        "constant folding",
        """
@jit
def whiten(x):
    basis = np.cumsum(np.arange(1_000_000.0)).reshape(1000, 1000)  # fault
    return x @ basis

print(whiten(np.ones((3, 1000))).sum())
""",
    ),
    "a state that gets another entry": (
        "retrace: structure",
        """
@jit
def step(state, g):
    new = {"w": state["w"] - 0.1 * g}
    new["m"] = 0.9 * state["m"] + g if "m" in state else g
    return new

state = {"w": np.ones(100)}
for i in range(4):
    state = step(state, np.ones(100))  # fault
print(state["w"].sum())
""",
    ),
    "a large result that nothing uses": (
        "unused result",
        """
@jit
def forward(x, w):
    hidden = np.tanh(x @ w)  # fault
    return hidden.sum(), hidden

x, w, total = np.ones((1000, 300)), np.ones((300, 1000)), np.zeros(())
add = jit(lambda a, b: a + b)
for i in range(5):
    value, hidden = forward(x, w)
    total = add(total, value)
print(total)
""",
    ),
    "a training state that is not donated": (
        "undonated state",
        """
@jit  # fault
def step(params, x):
    loss = lambda p: np.mean(np.tanh(x @ p["w"] + p["b"]) ** 2)
    return weft.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grad(loss)(params))

params = {"w": np.ones((1000, 600)), "b": np.zeros(600)}
x = np.ones((10, 1000))
for i in range(6):
    params = step(params, x)
print(params["b"].sum())
""",
    ),
    "a loss that becomes a float at each step": (
        "read in a loop",
        """
@jit
def step(w, x):
    value, g = weft.value_and_grad(lambda w: np.mean((x @ w) ** 2))(w)
    return w - 0.1 * g, value

w, x, losses = np.ones(20), np.ones((30, 20)), []
for i in range(8):
    w, value = step(w, x)
    losses.append(float(value))  # fault
print(losses[-1])
""",
    ),
    "a NumPy array that is passed at each step": (
        "host to device in a loop",
        """
data = onp.random.default_rng(0).normal(size=(1000, 400)).astype("float32")
step = jit(lambda w, x: w - 0.001 * x.T @ np.tanh(x @ w))
w = np.ones(400)
for i in range(6):
    w = step(w, data)  # fault
print(w.sum())
""",
    ),
    "a carry that begins as an integer": (
        "carry dtype",
        """
@jit
def total(xs):
    add = lambda c, x: (c + x * 0.5, None)
    return lax.scan(add, 0, xs)[0]  # fault

print(total(np.ones(50)))
""",
    ),
    "a one-hot product in place of a look-up": (
        "one-hot product",
        """
@jit
def embed(table, ids):
    x = nn.one_hot(ids, 2000) @ table  # fault
    return np.tanh(x)

print(embed(np.ones((2000, 64)), np.arange(100)).sum())
""",
    ),
}

# Written after the rules, in other words: the first run named 16 of these 20.
IN_OTHER_WORDS = {
    "a keyword that is an array, then a number": (
        "retrace: weak type",
        """
@jit
def scale(x, *, by):
    return x * by
y = scale(np.ones(10), by=np.float32(3))
z = scale(y, by=2.5)  # fault
print(z)
""",
    ),
    "a method that closes over its object's weights": (
        "closure constant",
        """
class Model:
    def __init__(self):
        self.w = np.ones((1000, 500))
    def apply(self, x):
        f = jit(lambda x: np.tanh(x @ self.w).sum())  # fault
        return f(x)
m = Model()
print(m.apply(np.ones((2, 1000))))
""",
    ),
    "two donations, of which one has another dtype": (
        "failed donation",
        """
@weft.jit(donate_argnums=(0, 1))  # fault
def mix(a, b):
    return a + b.astype("float32").sum()
a, b = np.ones((600, 600)), np.ones((600, 600), "int32")
import warnings
warnings.simplefilter("ignore")
print(mix(a, b).sum())
""",
    ),
    "a loop until a number is small enough": (
        "read in a loop",
        """
step = jit(lambda x: (x * 0.9, np.abs(x).max()))
x, error = np.ones(1000), np.ones(())
while error.item() > 0.3:  # fault
    x, error = step(x)
print(x.sum())
""",
    ),
    "float64 from a function in float64": (
        "float64 by accident",
        """
weft.config.update("enable_x64", True)
def window(n):
    return np.sin(np.linspace(0, 3.14, n))
@jit
def apply(x):
    return np.fft.rfft(
        x * window(4096)  # fault
    )
print(np.abs(apply(np.ones((8, 4096), "float32"))).sum())
weft.config.update("enable_x64", False)
""",
    ),
    "a recurrence in a Python loop": (
        "unrolled loop",
        """
def cell(p, h, x):
    return np.tanh(h @ p["u"] + x @ p["v"])  # fault
def run(p, xs):
    h = np.zeros(8)
    for t in range(xs.shape[0]):
        h = cell(p, h, xs[t])
    return h.sum()
p = {"u": np.eye(8), "v": np.ones((3, 8))}
print(jit(grad(run))(p, np.ones((36, 3)))["u"].sum())
""",
    ),
    "a power that is static": (
        "retrace: static",
        """
def power(x, n):
    return x ** n
power = jit(power, static_argnums=1)  # fault
for n in range(2, 8):
    y = power(np.ones(10), n)
print(y)
""",
    ),
    "texts of all lengths": (
        "retrace: shape",
        """
texts = ["a", "abc", "hello", "to be", "weft weft"]
encode = jit(lambda ids: np.cumsum(ids))
for text in texts:
    ids = np.array([ord(c) for c in text])
    out = encode(ids)  # fault
print(out)
""",
    ),
    "an update of an argument that is not donated": (
        "copy",
        """
@jit
def put(buffer, i, row):
    return buffer.at[i].add(row)  # fault
buffers = [np.zeros((2000, 300))]
for i in range(3):
    buffers.append(put(buffers[0], i, np.ones(300)))
print(buffers[-1].sum())
""",
    ),
    "overlapping frames of a signal": (
        "vmap of a gather",
        """
def frame(x, start):
    return lax.dynamic_slice_in_dim(x, start, 512)  # fault
frames = jit(lambda x: np.abs(np.fft.rfft(vmap(frame, (None, 0))(x, np.arange(0, 8000, 8)))).sum())
print(frames(np.ones(10000)))
""",
    ),
    "a function that is defined in a loop": (
        "retrace: new function",
        """
x = np.ones(10)
for k in range(4):
    @jit
    def shift(x):  # fault
        return x + k
    x = shift(x)
print(x)
""",
    ),
    "a result that decides whether the loop goes on": (
        "read in a loop",
        """
step = jit(lambda x: (x * 0.5, np.all(x < 1e-3)))
x = np.ones(100)
for i in range(30):
    x, done = step(x)
    if done:  # fault
        break
print(i)
""",
    ),
    "the inverse of a constant matrix": (
        "constant folding",
        """
@jit
def solve(b):
    a = np.eye(600) * 2 + np.ones((600, 600)) / 600
    return np.linalg.inv(a) @ b  # fault
print(solve(np.ones(600)).sum())
""",
    ),
    "a list that grows": (
        "retrace: structure",
        """
total = jit(lambda parts: sum(p.sum() for p in parts))
parts = []
for i in range(4):
    parts.append(np.ones(5))
    t = total(parts)  # fault
print(t)
""",
    ),
    "auxiliary data that nothing reads": (
        "unused result",
        """
@jit
def step(w, x):
    def loss(w):
        a = np.tanh(x @ w)  # fault
        return np.mean(a), {"activations": a}
    (value, aux), g = weft.value_and_grad(loss, has_aux=True)(w)
    return w - 0.1 * g, value, aux
w, x, values = np.ones((40, 900)), np.ones((600, 40)), []
for i in range(6):
    w, value, aux = step(w, x)
    values.append(value)
print(values[-1])
""",
    ),
    "an object with a method that is jitted": (
        "undonated state",
        """
class Trainer:
    def __init__(self):
        self.w, self.m = np.ones((900, 600)), np.zeros((900, 600))
        self.step = jit(self.update)  # fault
    def update(self, w, m, x):
        g = grad(lambda w: np.mean((x @ w) ** 2))(w)
        m = 0.9 * m + g
        return w - 0.1 * m, m
    def fit(self, x, n):
        for _ in range(n):
            self.w, self.m = self.step(self.w, self.m, x)
t = Trainer()
t.fit(np.ones((20, 900)), 6)
print(t.w.sum())
""",
    ),
    "numbers that are collected by item()": (
        "read in a loop",
        """
def train(steps):
    w, log = np.ones(30), []
    x = np.ones((8, 30))
    update = jit(lambda w: (w * 0.99, np.mean(x @ w)))
    for s in range(steps):
        w, loss = update(w)
        log.append(loss.item())  # fault
    return log
print(train(9)[-1])
""",
    ),
    "an array that is made anew at each step": (
        "host to device in a loop",
        """
data = onp.ones((1000, 400), "float32")
f = jit(lambda w, x: w + x.mean())
w = np.zeros(400)
for i in range(6):
    x = np.asarray(data)  # fault
    w = f(w, x)
print(w.sum())
""",
    ),
    "one of two carries is an integer": (
        "carry dtype",
        """
@jit
def stats(xs):
    def body(c, x):
        n, total = c
        return (n + 1, total + x), None
    (n, total), _ = lax.scan(body, (0, 0), xs)  # fault
    return total / n
print(stats(np.ones(40)))
""",
    ),
    "a one-hot matrix made by hand": (
        "one-hot product",
        """
@jit
def lookup(table, ids):
    hot = (ids[:, None] == np.arange(table.shape[0])).astype(table.dtype)
    return np.einsum("nv,vd->nd", hot, table)  # fault
print(lookup(np.ones((3000, 32)), np.arange(64)).sum())
""",
    ),
    # a later set; 11 of 14 at its first run
    "a constant of a function that a jitted one calls": (
        "closure constant",
        """
big = np.ones((800, 800)) * 0.1
@jit
def inner(x):
    return np.tanh(x @ big)  # fault
@jit
def outer(x):
    return inner(x).sum() + inner(x * 2).sum()
print(outer(np.ones((4, 800))))
""",
    ),
    "integers in one call, floats in another": (
        "retrace: dtype",
        """
f = jit(lambda ids, w: (w * ids.sum()).sum())
batches = [np.arange(5), np.arange(5.0), np.arange(5)]
for b in batches:
    y = f(b, np.ones(3))  # fault
print(y)
""",
    ),
    "None first, then an array": (
        "retrace: structure",
        """
@jit
def apply(x, mask):
    y = np.tanh(x)
    return y if mask is None else y * mask
mask = None
for i in range(3):
    y = apply(np.ones(4), mask)  # fault
    mask = np.ones(4)
print(y)
""",
    ),
    "rows that are collected as lists": (
        "read in a loop",
        """
step = jit(lambda c: (c + 1, c * 2))
c, rows = np.zeros(3), []
for i in range(10):
    c, out = step(c)
    rows.extend(out.tolist())  # fault
print(len(rows))
""",
    ),
    "a while loop under jit": (
        "unrolled loop",
        """
@jit
def simulate(x, v):
    t = 0
    while t < 45:
        a = -x
        v = v + 0.1 * a
        x = x + 0.1 * v  # fault
        t += 1
    return x
print(simulate(np.ones(10), np.zeros(10)).sum())
""",
    ),
    "updates outside of jitted functions": (
        "copy",
        """
grid = np.zeros((1000, 600))
for i in range(12):
    grid = grid.at[i, i].set(1.0)  # fault
print(grid.sum())
""",
    ),
    "a number in float64": (
        "float64 by accident",
        """
weft.config.update("enable_x64", True)
scale = np.asarray(onp.array(0.5))
@jit
def f(x, scale):
    return np.tanh(x) * scale  # fault
print(f(np.ones(5000, "float32"), scale).sum())
weft.config.update("enable_x64", False)
""",
    ),
    "static bounds that change": (
        "retrace: static",
        """
from functools import partial
@partial(jit, static_argnums=(1,))  # fault
def window(x, bounds):
    return x * bounds[0] + bounds[1]
for i in range(5):
    y = window(np.ones(3), (0.1 * i, 1.0))
print(y)
""",
    ),
    "an optimiser's state that is not donated": (
        "undonated state",
        """
def make():
    def update(state, g):
        p, m, v = state
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        return p - 0.01 * m / (np.sqrt(v) + 1e-8), m, v
    return jit(update)  # fault
update = make()
state = tuple(np.zeros((700, 700)) + i for i in range(3))
g = np.asarray(onp.ones((700, 700), "float32"))
for i in range(6):
    state = update(state, g)
print(state[0].sum())
""",
    ),
    "a one-hot product in place of a sum by groups": (
        "one-hot product",
        """
@jit
def pool(x, groups):
    member = nn.one_hot(groups, 500)
    return member.T @ x  # fault
print(pool(np.ones((4000, 64)), np.arange(4000) % 500).sum())
""",
    ),
    "a constant that is sorted": (
        "constant folding",
        """
noise = onp.random.default_rng(0).normal(size=400_000).astype("float32")
@jit
def quantile(x):
    grid = np.sort(np.asarray(noise))  # fault
    return np.searchsorted(grid, x)
print(quantile(np.ones(10)))
""",
    ),
    "jit in a method that is called often": (
        "retrace: new function",
        """
class Model:
    def __init__(self):
        self.w = np.ones(5)
    def predict(self, x):
        return jit(lambda w, x: w * x)(self.w, x)  # fault
m = Model()
for i in range(5):
    y = m.predict(np.ones(5) * i)
print(y)
""",
    ),
    "an array that NumPy changes in each round": (
        "host round trip",
        """
f = jit(lambda x: x * 0.5 + 1)
x = np.ones(2000)
for i in range(7):
    x = onp.array(f(x))  # fault
    x[0] = 0.0
print(x.sum())
""",
    ),
    "a donation by name that no result can use": (
        "failed donation",
        """
import warnings
warnings.simplefilter("ignore")
from functools import partial
@partial(jit, donate_argnames=("x",))  # fault
def mean_rows(x):
    return x.mean(axis=0)
print(mean_rows(np.ones((2000, 300))).sum())
""",
    ),
}
