"""Makes the picture in docs/training/logging.md: python docs/site/training_report.py

Trains a small language model on Python's built-in help, logs it as a loop does, writes the
page, and has Chromium draw it, light and dark. Needs chromium and Pillow.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
from pydoc_data.topics import topics

import numpy as onp
from PIL import Image

import weft
import weft.numpy as np
from weft import layers as tl
from weft.supervised.run_log import RunLog
from weft.supervised.run_report import write_report

PICTURE = pathlib.Path(__file__).parents[1] / "assets" / "training" / "report.png"
N_STEPS, LENGTH, BATCH, REPORT = 600, 32, 16, 10


def text_ids() -> onp.ndarray:
    """The text about Python that its own pages have, as bytes below 128."""
    text = "\n".join(topics[name] for name in sorted(topics))
    return onp.frombuffer(text.encode("ascii", "ignore"), "uint8").astype("int32")


def train(directory: str) -> None:
    """Trains the model, with reports, evaluations and samples."""
    ids = text_ids()
    cut = len(ids) * 9 // 10
    random = onp.random.default_rng(0)

    def batch(data):
        starts = random.integers(0, len(data) - LENGTH - 1, BATCH)
        return onp.stack([data[s : s + LENGTH] for s in starts])

    model = tl.Serial(
        tl.ShiftRight(), tl.Embedding(128, 64), tl.GRU(64), tl.SummaryScalar("state"), tl.Dense(128)
    )
    loss_layer = tl.WeightedCategoryCrossEntropy()
    whole = tl.Serial(tl.Select([0, 0]), model, tl.Fn("Ones", ones, n_out=3), loss_layer)
    weights, state = whole.init(batch(ids), rng=weft.random.PRNGKey(0))

    def loss_of(weights, state, batch, key):
        return whole.pure_fn(batch, weights, state, key)

    @weft.jit
    def step(weights, slots, state, batch, rate):
        (loss, state), grads = weft.value_and_grad(loss_of, has_aux=True)(
            weights, state, batch, weft.random.PRNGKey(0)
        )
        slots = weft.tree_util.tree_map(lambda s, g: 0.9 * s + 0.1 * g * g, slots, grads)
        update = weft.tree_util.tree_map(lambda g, s: rate * g / (np.sqrt(s) + 1e-6), grads, slots)
        norm = np.sqrt(sum(np.sum(g * g) for g in weft.tree_util.tree_leaves(grads)))
        weights = weft.tree_util.tree_map(lambda w, u: w - u, weights, update)
        return loss, norm, weights, slots, state

    slots = weft.tree_util.tree_map(np.ones_like, weights)
    evaluate = weft.jit(lambda w, s, b: loss_of(w, s, b, None)[0])
    log = RunLog(directory, stdout=False, tensorboard=False)
    log.describe(
        0,
        {
            "model": {"name": "GRU language model", "vocabulary": 128, "width": 64},
            "data": {"length": LENGTH, "batch": BATCH},
            "optimizer": {"name": "RMSProp", "learning_rate": 0.01, "warmup_steps": 50},
        },
    )
    losses = []
    for n in range(1, N_STEPS + 1):
        rate = 0.01 * min(1.0, n / 50) / max(1.0, n / 200) ** 0.5
        loss, norm, weights, slots, state = step(weights, slots, state, batch(ids[:cut]), rate)
        losses.append(float(loss))
        if n == 1 or n % REPORT == 0:
            log.scalars(n, "train", {"metrics/CrossEntropyLoss": onp.mean(losses)}, stdout=False)
            values = {"learning_rate": rate, "gradients_l2": norm}
            tagged = {f"training/{name}": value for name, value in values.items()}
            log.scalars(n, "train", tagged, stdout=False)
            losses.clear()
            held_back = onp.mean([evaluate(weights, state, batch(ids[cut:])) for _ in range(4)])
            log.scalars(n, "eval", {"metrics/CrossEntropyLoss": held_back}, stdout=False)
            log.summaries(n, "eval", state)
        if n % 200 == 0:
            log.text(n, "eval", "sample", sample(model, weights, state))
    log.end(N_STEPS)
    log.close()


def ones(logits, targets):
    """Logits, targets and weights of one."""
    return logits, targets, np.ones(targets.shape)


def sample(model, weights, state) -> str:
    """Text from the model, the likeliest byte of the eight at random."""
    random = onp.random.default_rng(1)
    ids = onp.zeros((1, 96), "int32")
    run = weft.jit(lambda ids: model.pure_fn(ids, weights[1], state[1], None)[0])
    for i in range(95):
        logits = onp.asarray(run(ids))[0, i]
        ids[0, i] = onp.argmax(logits + 0.5 * random.gumbel(size=logits.shape))
    return bytes(ids[0].astype("uint8")).decode("ascii", "replace").rstrip("\0")


def drawn(page: str, width: int, height: int, dark: bool, target: pathlib.Path) -> None:
    """Has Chromium draw a page."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or "google-chrome"
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *scheme,
         f"--window-size={width},{height}", f"--screenshot={target}", f"file://{page}"],
        check=True,
        capture_output=True,
    )  # fmt: skip


def on_both_screens(page: str, folder: pathlib.Path) -> Image.Image:
    """A page on a wide screen and, dark, on a telephone, side by side."""
    light, dark = folder / "light.png", folder / "dark.png"
    drawn(page, 1160, 1000, False, light)
    drawn(page, 500, 1000, True, dark)
    wide, narrow = Image.open(light).convert("RGB"), Image.open(dark).convert("RGB")
    both = Image.new("RGB", (wide.width + narrow.width + 20, wide.height), "#8a8d96")
    both.paste(wide, (0, 0))
    both.paste(narrow, (wide.width + 20, 0))
    return both


def main() -> None:
    """Writes the picture: the page on a wide screen and, dark, on a telephone."""
    with tempfile.TemporaryDirectory() as folder:
        run = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(folder) / "help-gru")
        if not pathlib.Path(run).exists():
            train(run)
        page = str(pathlib.Path(write_report(run)).resolve())
        both = on_both_screens(page, pathlib.Path(folder))
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        both.quantize(96, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
