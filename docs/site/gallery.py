"""Makes the pictures of the gallery, and its page: python docs/site/gallery.py

Each function below computes a picture with weft and draws it on matplotlib's axes. Its docstring is
the caption. The pictures are the same in every run; docs/gallery.md shows their code.
"""

import inspect
import pathlib
import textwrap
from collections.abc import Callable

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import weft
import weft.numpy as np
from weft import lax, nn, random
from weft.experimental.ode import odeint
from weft.scipy import special, stats

DOCS = pathlib.Path(__file__).parents[1]
PICTURES: list[Callable[..., None]] = []
TITLES = {
    "bessel": "Bessel functions",
    "density": "Density estimation",
    "edges": "Edge detection",
    "fourier": "Fourier series",
    "gray_scott": "Reaction and diffusion",
    "lorenz": "Lorenz attractor",
    "mandelbrot": "Mandelbrot set",
    "newton": "Newton's method",
    "spirals": "Two spirals",
    "taylor": "Taylor polynomials",
    "wave": "Wave equation",
}
"""The headings of pictures; by default the name of the function."""


def picture(function: Callable[..., None]) -> Callable[..., None]:
    """Adds a function to the gallery."""
    PICTURES.append(function)
    return function


@picture
def lorenz(ax):
    """The Lorenz attractor: `scan` follows two starts that are 0.001 apart, `vmap` runs both."""

    def velocity(p):
        x, y, z = p
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def path(start):
        def step(p, _):
            p = p + 0.005 * velocity(p + 0.0025 * velocity(p))
            return p, p

        return lax.scan(step, start, length=4000)[1]

    for p in weft.vmap(path)(np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.001]])):
        ax.plot(p[:, 0], p[:, 2], linewidth=0.5)


@picture
def derivatives(ax):
    """tanh and its first four derivatives: `grad` of `grad` of `grad`."""
    x = np.linspace(-4, 4, 200)
    function = np.tanh
    for order in range(5):
        ax.plot(x, weft.vmap(function)(x), label=f"order {order}")
        function = weft.grad(function)
    ax.legend()


@picture
def mandelbrot(ax):
    """The Mandelbrot set: a compiled `fori_loop` counts steps for every pixel."""
    x, y = np.meshgrid(np.linspace(-2.2, 0.8, 300), np.linspace(-1.3, 1.3, 260))

    @weft.jit
    def steps(c):
        def step(_, state):
            z, count = state
            z = np.where(np.abs(z) < 2, z * z + c, z)
            return z, count + (np.abs(z) < 2)

        return lax.fori_loop(0, 60, step, (np.zeros_like(c), np.zeros(c.shape)))[1]

    ax.imshow(np.log1p(steps(x + 1j * y)), cmap="magma", extent=(-2.2, 0.8, -1.3, 1.3))


@picture
def newton(ax):
    """Newton's method on z³ = 1: the root that each start reaches; `grad(holomorphic=True)`."""
    x, y = np.meshgrid(np.linspace(-1.5, 1.5, 260), np.linspace(-1.5, 1.5, 260))
    slope = weft.vmap(weft.grad(lambda z: z**3 - 1, holomorphic=True))

    @weft.jit
    def solve(z):
        return lax.fori_loop(0, 25, lambda _, z: z - (z**3 - 1) / slope(z), z)

    ax.imshow(np.angle(solve((x + 1j * y).ravel())).reshape(260, 260).round(2), cmap="viridis")


@picture
def gray_scott(ax):
    """Reaction and diffusion (Gray–Scott): 3,000 steps of `fori_loop` with `np.roll`."""

    def spread(u):
        return sum(np.roll(u, s, axis=a) for s in (-1, 1) for a in (0, 1)) - 4 * u

    def step(_, state):
        u, v = state
        reaction = u * v * v
        u = u + 0.16 * spread(u) - reaction + 0.035 * (1 - u)
        return u, v + 0.08 * spread(v) + reaction - 0.1 * v

    u = np.ones((128, 128)).at[54:74, 54:74].set(0.5)
    v = np.zeros((128, 128)).at[54:74, 54:74].set(0.25)
    ax.imshow(weft.jit(lambda s: lax.fori_loop(0, 3000, step, s))((u, v))[1], cmap="cividis")


@picture
def wave(ax):
    """A wave in a box after 120 steps of `scan`."""
    x, y = np.meshgrid(np.linspace(-1, 1, 160), np.linspace(-1, 1, 160))
    start = np.exp(-200 * ((x - 0.3) ** 2 + (y + 0.2) ** 2))

    def step(state, _):
        old, u = state
        laplacian = np.pad(u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2], 1) - 4 * u
        return (u, 2 * u - old + 0.25 * laplacian), None

    ax.imshow(lax.scan(step, (start, start), length=120)[0][1], cmap="RdBu", vmin=-0.2, vmax=0.2)


@picture
def rosenbrock(ax):
    """Four descents on Rosenbrock's valley by `grad`, run together by `vmap`."""

    def f(p):
        return (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2

    def descend(start):
        def step(p, _):
            return p - 0.004 * weft.grad(f)(p), p

        return lax.scan(step, start, length=1500)[1]

    grid = np.stack(np.meshgrid(np.linspace(-2, 2, 120), np.linspace(-1, 3, 120)))
    ax.contourf(grid[0], grid[1], np.log1p(f(grid)), 20, cmap="Blues")
    for p in weft.vmap(descend)(np.array([[-1.5, 2.5], [-1.8, 0], [1.5, -0.5], [0, 2.5]])):
        ax.plot(p[:, 0], p[:, 1], linewidth=1.5)


@picture
def taylor(ax):
    """Taylor polynomials of sin at 0, from derivatives by `jacfwd`."""
    x = np.linspace(-6, 6, 200)
    ax.plot(x, np.sin(x), "k", label="sin")
    function, total, factor = np.sin, np.zeros_like(x), 1.0
    for order in range(10):
        total = total + function(0.0) / factor * x**order
        function, factor = weft.jacfwd(function), factor * (order + 1)
        if order in (1, 3, 5, 9):
            ax.plot(x, total, label=f"order {order}")
    ax.set_ylim(-3, 3)
    ax.legend()


@picture
def gaussian_process(ax):
    """A Gaussian process given five points: its mean, deviation and three samples."""
    x, at = np.linspace(0, 10, 120), np.array([1.0, 3.0, 4.5, 7.0, 8.5])

    def kernel(a, b):
        return np.exp(-0.5 * (a[:, None] - b) ** 2)

    weights = np.linalg.solve(kernel(at, at) + 1e-4 * np.eye(5), kernel(at, x)).T
    mean = weights @ np.sin(at)
    covariance = kernel(x, x) - weights @ kernel(at, x)
    deviation = np.sqrt(np.clip(np.diag(covariance), 0))
    ax.fill_between(x, mean - 2 * deviation, mean + 2 * deviation, alpha=0.2)
    values, vectors = np.linalg.eigh(covariance)
    noise = random.normal(random.key(1), (120, 3))
    ax.plot(x, mean[:, None] + vectors @ (np.sqrt(np.clip(values, 0))[:, None] * noise))
    ax.plot(at, np.sin(at), "ko")


@picture
def random_walks(ax):
    """200 random walks, `cumsum` of random signs, within ±2√n."""
    steps = random.rademacher(random.key(0), (200, 400), dtype="float32")
    ax.plot(np.cumsum(steps, axis=1).T, linewidth=0.4, alpha=0.5)
    n = np.arange(400)
    ax.plot(n, 2 * np.sqrt(n), "k", n, -2 * np.sqrt(n), "k")


@picture
def metropolis(ax):
    """Metropolis' algorithm on a ring: 64 chains by `vmap`, 300 steps each by `scan`."""

    def density(p):
        return -20 * (np.linalg.norm(p) - 1) ** 2

    def chain(key):
        def step(p, key):
            move, accept = random.split(key)
            new = p + 0.3 * random.normal(move, (2,))
            taken = np.log(random.uniform(accept)) < density(new) - density(p)
            p = np.where(taken, new, p)
            return p, p

        return lax.scan(step, np.array([1.0, 0.0]), random.split(key, 300))[1]

    p = weft.jit(weft.vmap(chain))(random.split(random.key(0), 64)).reshape(-1, 2)
    ax.plot(p[:, 0], p[:, 1], ".", markersize=1)
    ax.set_aspect("equal")


@picture
def distributions(ax):
    """20,000 samples of gamma distributions beside their densities."""
    x = np.linspace(0.01, 12, 200)
    for at, shape in enumerate((1.5, 3.0, 6.0)):
        samples = random.gamma(random.key(at), shape, (20000,))
        height, edges = np.histogram(samples, 60, (0, 12), density=True)
        ax.stairs(height, edges, fill=True, alpha=0.4)
        ax.plot(x, stats.gamma.pdf(x, shape), "k", linewidth=0.8)


@picture
def fourier(ax):
    """A square wave from the first terms of its `fft`."""
    x = np.linspace(0, 1, 512, endpoint=False)
    square = np.where(x < 0.5, 1.0, -1.0)
    terms = np.fft.rfft(square)
    ax.plot(x, square, "k")
    for n in (2, 6, 20):
        ax.plot(x, np.fft.irfft(np.where(np.arange(257) < n, terms, 0)), label=f"{n} terms")
    ax.legend()


@picture
def bifurcation(ax):
    """The logistic map's bifurcations: `vmap` over 600 rates, `scan` over steps."""

    def orbit(r):
        def step(x, _):
            x = r * x * (1 - x)
            return x, x

        return lax.scan(step, 0.5, length=300)[1][200:]

    r = np.linspace(2.6, 4, 600)
    ax.plot(np.repeat(r, 100), weft.vmap(orbit)(r).ravel(), ",k", alpha=0.5)


@picture
def spirals(ax):
    """A network learns two spirals: 1,500 compiled steps of gradient descent with momentum."""
    t = np.linspace(0.5, 3.2, 150) * np.pi
    arm = np.stack([t * np.cos(t), t * np.sin(t)], axis=1) / 10
    x, y = np.concatenate([arm, -arm]), np.repeat(np.array([0.0, 1.0]), 150)

    def model(weights, x):
        for w, b in weights[:-1]:
            x = np.tanh(x @ w + b)
        w, b = weights[-1]
        return (x @ w + b)[..., 0]

    def loss(weights):
        z = model(weights, x)
        return np.mean(nn.softplus(z) - y * z)

    def step(state, _):
        weights, speed = state
        speed = weft.tree.map(lambda s, g: 0.95 * s - 0.03 * g, speed, weft.grad(loss)(weights))
        return (weft.tree.map(np.add, weights, speed), speed), None

    keys, sizes = random.split(random.key(3), 3), [(2, 32), (32, 32), (32, 1)]
    pairs = zip(keys, sizes, strict=True)
    weights = [(3 * random.normal(k, s) / s[0] ** 0.5, np.zeros(s[1])) for k, s in pairs]
    still = weft.tree.map(np.zeros_like, weights)
    weights = weft.jit(lambda s: lax.scan(step, s, length=1500)[0])((weights, still))[0]
    grid = np.stack(np.meshgrid(np.linspace(-1.1, 1.1, 150), np.linspace(-1.1, 1.1, 150)), -1)
    ax.contourf(grid[..., 0], grid[..., 1], nn.sigmoid(model(weights, grid)), 20, cmap="RdBu")
    ax.plot(*arm.T, "k.", *-arm.T, "w.", markersize=3)


@picture
def pendulums(ax):
    """A damped pendulum from 12 starts, by `odeint` under `vmap`."""
    times = np.linspace(0, 15, 300)

    def path(start):
        return odeint(lambda p, t: np.array([p[1], -np.sin(p[0]) - 0.15 * p[1]]), start, times)

    starts = np.stack([np.full(12, -3.0), np.linspace(0.2, 4, 12)], axis=1)
    for p in weft.vmap(path)(starts):
        ax.plot(p[:, 0], p[:, 1], linewidth=0.8)


@picture
def activations(ax):
    """Activation functions of `weft.nn`."""
    x = np.linspace(-4, 4, 200)
    for function in (nn.relu, nn.gelu, nn.silu, nn.elu, nn.softplus, nn.hard_tanh):
        ax.plot(x, function(x), label=function.__name__)
    ax.legend()


@picture
def bessel(ax):
    """Spherical Bessel functions of `weft.scipy.special`."""
    x = np.linspace(0.1, 15, 300)
    for order in range(4):
        ax.plot(x, special.spherical_jn(order, x), label=f"order {order}")
    ax.legend()


@picture
def edges(ax):
    """The edges of shapes: two 3 × 3 filters by `lax.conv`."""
    x, y = np.meshgrid(np.linspace(-1, 1, 200), np.linspace(-1, 1, 200))
    image = np.where((np.hypot(x + 0.3, y) < 0.5) | ((np.abs(x - 0.4) < 0.4) & (y > 0)), 1.0, 0.0)
    sobel = np.array([[1.0, 2, 1], [0, 0, 0], [-1, -2, -1]])
    filters = np.stack([sobel, sobel.T])[:, None]
    ax.imshow(np.hypot(*lax.conv(image[None, None], filters, (1, 1), "SAME")[0]), cmap="gray")


@picture
def density(ax):
    """A density estimated from 300 points by `gaussian_kde`."""
    arc = random.uniform(random.key(0), (300,)) * np.pi
    noise = 0.15 * random.normal(random.key(1), (2, 300))
    points = np.stack([np.cos(arc), np.sin(arc)]) + noise
    x, y = np.meshgrid(np.linspace(-1.6, 1.6, 100), np.linspace(-0.6, 1.6, 100))
    values = stats.gaussian_kde(points)(np.stack([x.ravel(), y.ravel()]))
    ax.contourf(x, y, values.reshape(x.shape), 12, cmap="YlGn")
    ax.plot(points[0], points[1], "k.", markersize=2)


@picture
def bootstrap(ax):
    """60 cubic fits of resampled data: `vmap` over `polyfit`."""
    x = np.linspace(-2, 2, 40)
    y = x**3 - 2 * x + random.normal(random.key(0), (40,))
    rows = random.randint(random.key(1), (60, 40), 0, 40)
    fits = weft.vmap(lambda at: np.polyval(np.polyfit(x[at], y[at], 3), x))(rows)
    ax.plot(x, fits.T, "C0", alpha=0.2)
    ax.plot(x, y, "ko", markersize=3)


@picture
def brachistochrone(ax):
    """The curve of fastest descent: gradient steps on 60 heights, from a line towards a cycloid."""
    x = np.linspace(0, 1, 62)

    def heights(free):
        return np.concatenate([np.zeros(1), free, np.full(1, 0.6)])

    def time(free):
        y = heights(free)
        speed = np.sqrt(2 * 9.81 * np.maximum((y[1:] + y[:-1]) / 2, 1e-4))
        return np.sum(np.hypot(np.diff(x), np.diff(y)) / speed)

    def step(free, _):
        return free - 0.002 * weft.grad(time)(free), heights(free)

    curves = weft.jit(lambda f: lax.scan(step, f, length=20000)[1])(0.6 * x[1:-1])
    for at in (0, 200, 1000, 4000, 19999):
        ax.plot(x, -curves[at], label=f"{at} steps")
    ax.legend()


def draw(function: Callable[..., None]) -> pathlib.Path:
    """Writes a picture; its file."""
    figure, ax = plt.subplots(figsize=(5, 3.6))
    function(ax)
    if ax.images:
        ax.set_axis_off()
    path = DOCS / "assets" / "gallery" / f"{function.__name__}.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=80, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    return path


def entry(function: Callable[..., None], path: pathlib.Path) -> str:
    """What the page shows of a picture: itself, its caption and its code."""
    lines = inspect.getsource(function).splitlines()[3:]
    code = textwrap.dedent("\n".join(lines)).strip()
    name = function.__name__
    title = TITLES.get(name, name.replace("_", " ").capitalize())
    caption = inspect.getdoc(function)
    link = path.relative_to(DOCS).as_posix()
    return f"## {title}\n\n{caption}\n\n![{title}]({link})\n\n```python no-run\n{code}\n```\n"


def main() -> None:
    """Makes all pictures and the page."""
    entries = [entry(function, draw(function)) for function in PICTURES]
    head = (
        "# Gallery\n\nEach picture is computed by weft and drawn by matplotlib's `ax`. "
        "`python docs/site/gallery.py` regenerates the pictures and this page.\n\n"
        "```python no-run\nimport weft\nimport weft.numpy as np\n"
        "from weft import lax, nn, random\nfrom weft.experimental.ode import odeint\n"
        "from weft.scipy import special, stats\n```\n"
    )
    (DOCS / "gallery.md").write_text("\n".join([head, *entries]))


if __name__ == "__main__":
    main()
