"""Twenty sound programs, most of them cured forms of the faulty ones: nothing is to be found."""

SOUND = {
    "training with a donated state": """
from functools import partial

@partial(jit, donate_argnums=0)
def step(params, x):
    loss = lambda p: np.mean(np.tanh(x @ p["w"] + p["b"]) ** 2)
    return weft.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grad(loss)(params))

params = {"w": np.ones((1000, 600)), "b": np.zeros(600)}
x = np.ones((10, 1000))
for i in range(6):
    params = step(params, x)
print(params["b"].sum())
""",
    "the loss is read every tenth step": """
@jit
def step(w, x):
    value, g = weft.value_and_grad(lambda w: np.mean((x @ w) ** 2))(w)
    return w - 0.1 * g, value

w, x = np.ones(20), np.ones((30, 20))
for i in range(60):
    w, value = step(w, x)
    if i % 10 == 0:
        print(float(value))
""",
    "the losses are read at the end": """
@jit
def step(w, x):
    value, g = weft.value_and_grad(lambda w: np.mean((x @ w) ** 2))(w)
    return w - 0.1 * g, value

w, x, losses = np.ones(20), np.ones((30, 20)), []
for i in range(20):
    w, value = step(w, x)
    losses.append(value)
print([float(v) for v in losses])
""",
    "training and evaluation, two shapes": """
loss = jit(lambda w, x, y: np.mean((x @ w - y) ** 2))
step = jit(lambda w, x, y: w - 0.1 * grad(loss)(w, x, y))
w = np.zeros(5)
for i in range(10):
    w = step(w, np.ones((32, 5)), np.ones(32))
print(loss(w, np.ones((100, 5)), np.ones(100)), loss(w, np.ones((32, 5)), np.ones(32)))
""",
    "a flag that is static": """
from functools import partial

@partial(jit, static_argnames="training")
def apply(w, x, training):
    return np.tanh(x @ w) * (0.5 if training else 1.0)

w, x = np.ones((5, 5)), np.ones((4, 5))
for i in range(5):
    y = apply(w, x, training=True)
print(apply(w, x, training=False).sum(), y.sum())
""",
    "a loop by scan": """
@jit
def settle(x, w):
    return lax.scan(lambda c, _: (np.tanh(c @ w), None), x, None, length=60)[0]

print(settle(np.ones(20), np.eye(20)).sum())
""",
    "a network of twelve layers in a Python loop": """
def forward(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return x

params = [(np.eye(64), np.zeros(64)) for _ in range(12)]
step = jit(lambda p, x: grad(lambda p: np.mean(forward(p, x) ** 2))(p))
g = step(params, np.ones((16, 64)))
print(g[0][0].sum())
""",
    "an optimiser on fifty small arrays": """
from functools import partial

@partial(jit, donate_argnums=(0, 1))
def adam(params, moments, grads):
    moments = [0.9 * m + 0.1 * g for m, g in zip(moments, grads)]
    return [p - 0.1 * m / (np.sqrt(m * m) + 1e-8) for p, m in zip(params, moments)], moments

params, moments = [np.ones(40)] * 50, [np.zeros(40)] * 50
params, moments = [p + 0 for p in params], [m + 0 for m in moments]
for i in range(5):
    params, moments = adam(params, moments, [np.ones(40)] * 50)
print(params[0].sum())
""",
    "new batches from the host": """
from functools import partial
generator = onp.random.default_rng(0)
step = jit(lambda w, x: w - 0.001 * x.T @ np.tanh(x @ w))
w = np.ones(400)
for i in range(6):
    w = step(w, generator.normal(size=(1000, 400)).astype("float32"))
print(w.sum())
""",
    "data on the device, used at each step": """
data = np.asarray(onp.random.default_rng(0).normal(size=(1000, 400)).astype("float32"))
step = jit(lambda w, x: w - 0.001 * x.T @ np.tanh(x @ w))
w = np.ones(400)
for i in range(6):
    w = step(w, data)
print(w.sum())
""",
    "an update of a donated buffer": """
from functools import partial

@partial(jit, donate_argnums=0)
def write(cache, i, row):
    return cache.at[i].set(row)

cache = np.zeros((1000, 500))
for i in range(5):
    cache = write(cache, i, np.ones(500))
print(cache.sum())
""",
    "a table that is an argument": """
lookup = jit(lambda table, ids: np.take(table, ids, axis=0).sum(axis=1))
table = np.ones((2000, 256))
for i in range(4):
    y = lookup(table, np.arange(100) + i)
print(y.sum())
""",
    "float64 throughout": """
weft.config.update("enable_x64", True)
solve = jit(lambda a, b: np.linalg.solve(a, b))
a = np.eye(60) * 2 + np.ones((60, 60)) / 100
print(solve(a, np.ones(60)).sum())
weft.config.update("enable_x64", False)
""",
    "sums in float64 on purpose": """
weft.config.update("enable_x64", True)
mean = jit(lambda x: np.sum(x.astype("float64")) / x.size)
print(mean(np.ones((100, 100), "float32")))
weft.config.update("enable_x64", False)
""",
    "random keys and dropout": """
@jit
def step(w, key, x):
    keep = random.bernoulli(key, 0.9, x.shape)
    return w - 0.1 * grad(lambda w: np.mean((np.where(keep, x, 0) @ w) ** 2))(w)

w, key = np.ones(50), random.key(0)
for i in range(6):
    key, now = random.split(key)
    w = step(w, now, np.ones((20, 50)))
print(w.sum())
""",
    "attention with a mask": """
def attend(q, k, v):
    scores = np.einsum("td,sd->ts", q, k) / np.sqrt(64.0)
    mask = np.tril(np.ones((128, 128), bool))
    return nn.softmax(np.where(mask, scores, -1e9)) @ v

batched = jit(vmap(attend))
x = np.ones((8, 128, 64))
print(batched(x, x, x).sum())
""",
    "a convolution and a pool": """
@jit
def features(x, w):
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME")
    return np.max(nn.relu(y), axis=(2, 3))

print(features(np.ones((4, 3, 32, 32)), np.ones((8, 3, 3, 3))).sum())
""",
    "a while loop until it converges": """
@jit
def root(x):
    return lax.while_loop(lambda c: abs(c * c - x) > 1e-4, lambda c: (c + x / c) / 2, x)

print(root(2.0), root(3.0))
""",
    "a rate that changes as an array": """
step = jit(lambda w, rate: w - rate * w)
w = np.ones(100)
for i in range(6):
    w = step(w, 0.1 / (i + 1))
print(w.sum())
""",
    "a state that is kept for comparison": """
@jit
def step(w, x):
    return w - 0.01 * np.tanh(x @ w)

w, kept = np.ones((600, 600)), []
x = np.ones((600, 600))
for i in range(5):
    kept.append(w)
    w = step(w, x)
print(np.sum(kept[0] - w), len(kept))
""",
}

# Written after the rules: the first run found something in one of them, which was wrong.
IN_OTHER_WORDS = {
    "three activations by name": """
from functools import partial
@partial(jit, static_argnames="kind")
def act(x, kind):
    return {"relu": nn.relu, "tanh": np.tanh, "gelu": nn.gelu}[kind](x)
for kind in ("relu", "tanh", "gelu"):
    print(kind, act(np.ones(5), kind=kind).sum())
""",
    "one function for ints and floats": """
norm = jit(lambda x: x / np.sum(x))
print(norm(np.arange(5.0)))
print(norm(np.arange(5)))
""",
    "one function for two structures": """
total = jit(lambda tree: sum(weft.tree_util.tree_leaves(weft.tree_map(np.sum, tree))))
print(total({"a": np.ones(3)}))
print(total([np.ones(3), np.ones(4)]))
""",
    "a factory of steps": """
def make(rate):
    return jit(lambda w: w - rate * w)
slow, fast, faster = make(0.01), make(0.1), make(0.5)
w = np.ones(3)
for i in range(4):
    a, b, c = slow(w), fast(w), faster(w)
print(a, b, c)
""",
    "early stopping every ten steps": """
step = jit(lambda x: (x * 0.9, np.abs(x).max()))
x = np.ones(100)
for i in range(80):
    x, error = step(x)
    if i % 10 == 9 and float(error) < 0.05:
        break
print(i)
""",
    "many steps in one scan": """
@jit
def run(w, xs):
    def body(w, x):
        value, g = weft.value_and_grad(lambda w: np.mean((x @ w) ** 2))(w)
        return w - 0.1 * g, value
    return lax.scan(body, w, xs)
for epoch in range(4):
    w, losses = run(np.ones(6), np.ones((50, 8, 6)))
    print(losses[-1])
""",
    "embedding of a batch": """
@jit
def forward(p, ids):
    x = p["table"][ids] + p["places"][: ids.shape[1]]
    return np.einsum("btd,vd->btv", x, p["table"]).mean()
p = {"table": np.ones((100, 64)), "places": np.ones((128, 64))}
print(forward(p, np.zeros((64, 128), int)))
""",
    "losses by class with a mask": """
@jit
def loss(logits, labels):
    picked = np.take_along_axis(nn.log_softmax(logits), labels[:, None], 1)[:, 0]
    return -np.sum(picked * (labels >= 0)) / labels.size
print(loss(np.ones((4000, 300)), np.arange(4000) % 300))
""",
    "jacobian and hessian": """
f = lambda x: np.sum(np.sin(x) ** 3)
h = jit(weft.hessian(f))
print(h(np.ones(40)).sum(), jit(weft.jacrev(lambda x: np.outer(x, x)))(np.ones(30)).sum())
""",
    "an optimiser written by hand": """
x = np.ones((64, 32))
w = 0.1 * np.ones((32, 32))
g = jit(lambda w: grad(lambda w: np.sum(np.tanh(x @ w)))(w))
m = np.zeros((32, 32))
for i in range(12):
    m = 0.9 * m + g(w)
    w = w - 0.01 * m
print(w.sum())
""",
    "a metric in numpy at the end of each epoch": """
predict = jit(lambda w, x: x @ w)
step = jit(lambda w, x: w * 0.99 + x.mean(0))
w = np.zeros(7)
for epoch in range(5):
    for i in range(20):
        w = step(w, np.ones((16, 7)))
    scores = onp.asarray(predict(w, np.ones((100, 7))))
    print(epoch, scores.mean(), scores.max())
""",
}
