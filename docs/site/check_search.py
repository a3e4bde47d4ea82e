"""Checks that the site's search finds public names: python docs/site/check_search.py build/docs

The index is searched as the browser does: lunr's scores, each word whole and as a beginning, whole
pages before their sections. The first hit must be the page of the name.
"""

import html
import json
import pathlib
import re
import sys

from lunr.builder import Builder
from lunr.pipeline import Pipeline
from lunr.token import Token

EXACT = 10
"""How much more a whole word weighs than the beginning of a word (see hook.py)."""

# The name whose page must come first, for what users type.
PAGE_OF = {
    "where": "weft.numpy.where", "jnp.where": "weft.numpy.where", "np.where": "weft.numpy.where",
    "linalg.solve": "weft.numpy.linalg.solve", "numpy.linalg.solve": "weft.numpy.linalg.solve",
    "solve": "weft.numpy.linalg.solve", "jnp.linalg.svd": "weft.numpy.linalg.svd",
    "scipy.linalg.expm": "weft.scipy.linalg.expm", "tl.Dense": "weft.layers.Dense",
    "Dense": "weft.layers.Dense", "layers.Dense": "weft.layers.Dense", "dense": "weft.layers.Dense",
    "tl.Serial": "weft.layers.Serial", "LayerNorm": "weft.layers.LayerNorm",
    "grad": "weft.grad", "jax.grad": "weft.grad", "vmap": "weft.vmap", "jit": "weft.jit",
    "weft.jit": "weft.jit", "pmap": "weft.pmap", "hessian": "weft.hessian", "vjp": "weft.vjp",
    "value_and_grad": "weft.value_and_grad", "custom_vjp": "weft.custom_vjp",
    "checkpoint": "weft.checkpoint", "make_jaxpr": "weft.make_jaxpr", "lax.scan": "weft.lax.scan",
    "scan": "weft.lax.scan", "fori_loop": "weft.lax.fori_loop", "cond": "weft.lax.cond",
    "while_loop": "weft.lax.while_loop", "lax.dot_general": "weft.lax.dot_general",
    "einsum": "weft.einsum", "sum": "weft.numpy.sum", "argmax": "weft.numpy.argmax",
    "arange": "weft.numpy.arange", "all": "weft.numpy.all", "random.normal": "weft.random.normal",
    "PRNGKey": "weft.random.PRNGKey", "random.split": "weft.random.split",
    "relu": "weft.nn.relu", "nn.softmax": "weft.nn.softmax", "gelu": "weft.nn.gelu",
    "tree_map": "weft.tree_util.tree_map", "odeint": "weft.experimental.ode.odeint",
    "stax.Dense": "weft.experimental.stax.Dense", "checkify": "weft.experimental.checkify.checkify",
    "gammaln": "weft.scipy.special.gammaln", "norm.logpdf": "weft.scipy.stats.norm.logpdf",
    "fft.rfft": "weft.numpy.fft.rfft", "device_put": "weft.device_put",
    "float32": "weft.numpy.float32", "exp": "weft.numpy.exp", "log": "weft.numpy.log",
    "abs": "weft.numpy.abs", "inv": "weft.numpy.linalg.inv", "dtype": "weft.numpy.dtype",
    "categorical": "weft.random.categorical", "uniform": "weft.random.uniform",
    "top_k": "weft.lax.top_k", "psum": "weft.lax.psum", "scipy": "weft.scipy",
    "random": "weft.random", "fastmath": "weft.fastmath", "layers": "weft.layers",
    "Loop": "weft.supervised.training.Loop", "training.Loop": "weft.supervised.training.Loop",
    "TrainTask": "weft.supervised.training.TrainTask",
    "EvalTask": "weft.supervised.training.EvalTask",
    "Adam": "weft.optimizers.Adam", "optimizers.Adam": "weft.optimizers.Adam",
    "adam": "weft.optimizers.Adam", "SGD": "weft.optimizers.SGD",
    "Momentum": "weft.optimizers.Momentum", "Adafactor": "weft.optimizers.Adafactor",
    "from_optax": "weft.optimizers.from_optax",
    "warmup_and_cosine": "weft.supervised.lr_schedules.warmup_and_cosine",
    "autoregressive_sample": "weft.supervised.decoding.autoregressive_sample",
    "beam_search": "weft.supervised.decoding.beam_search",
    "save_checkpoint": "weft.supervised.training.Loop", "checkpoints.save": "weft.checkpoints.save",
    "checkpoints.restore": "weft.checkpoints.restore", "checkpoints": "weft.checkpoints",
    "checkpoints.Checkpoints": "weft.checkpoints.Checkpoints",
    "data.Batch": "weft.data.Batch", "data.Shuffle": "weft.data.Shuffle",
    "Prefetch": "weft.data.Prefetch", "data.Serial": "weft.data.Serial",
    "Tokenize": "weft.data.Tokenize", "JSONLines": "weft.data.JSONLines",
    "TransformerLM": "weft.models.TransformerLM", "models.Resnet50": "weft.models.Resnet50",
    "compat.install": "weft.compat.install", "new_ref": "weft.new_ref",
    "tl.BatchNorm": "weft.layers.BatchNorm", "Dropout": "weft.layers.Dropout",
    "LSTM": "weft.layers.LSTM", "Embedding": "weft.layers.Embedding",
    "supervised": "weft.supervised", "optimizers": "weft.optimizers", "data": "weft.data",
}  # fmt: skip


def trimmed(token: Token, i: object = None, tokens: object = None) -> Token:
    """The token without marks at its ends, as the browser's trimmer has it."""
    return token.update(lambda text, metadata=None: re.sub(r"^\W+|\W+$", "", text))


Pipeline.register_function(trimmed, "trimmed")


def index_of(data: dict) -> object:
    """The index that the browser builds of search_index.json."""
    builder = Builder()
    builder.pipeline.add(trimmed)
    builder.search_pipeline.reset()
    builder.ref("location")
    builder.b(0)
    for field, options in data["config"]["fields"].items():
        builder.field(field, boost=options["boost"])
    separator = re.compile(data["config"]["separator"])
    for doc in data["docs"]:
        words = separator.sub(" ", html.unescape(re.sub(r"<[^>]+>", " ", doc["text"])))
        title = separator.sub(" ", html.unescape(doc["title"]))
        fields = {"text": words, "title": title, "tags": " ".join(doc.get("tags", []))}
        builder.add(doc | fields, {"boost": doc.get("boost", 1)})
    return builder.build()


def first_hit(index: object, typed: str) -> str:
    """The page that the browser lists first."""
    words = [f"{word}^{EXACT} {word}*" for word in typed.split()]
    hits = index.search(" ".join(words))
    # Material doubles whole pages (and all words found): score × (1 + boost²).
    scored = [(h["score"] * (2 if "#" in h["ref"] else 5), h["ref"]) for h in hits]
    return max(scored, default=(0, "nothing"))[1].partition("#")[0]


def main(site: str) -> int:
    """Prints what is found wrong; how many names that are."""
    data = json.loads((pathlib.Path(site) / "search" / "search_index.json").read_text())
    index = index_of(data)
    pages = {doc["location"]: doc["title"] for doc in data["docs"]}
    wrong = 0
    for typed, name in PAGE_OF.items():
        hit = first_hit(index, typed)
        # the search is blind to case: `Batch` and `batch` are one word
        if pages.get(hit, "").lower() != name.lower() and name not in tags_of(data, hit):
            wrong += 1
            print(f"{typed}: first hit {hit}; expected the page of {name}")
    print(f"{len(PAGE_OF) - wrong} of {len(PAGE_OF)} names are the first hit")
    return wrong


def tags_of(data: dict, location: str) -> list[str]:
    """The names of a page of the reference."""
    return next((d.get("tags", []) for d in data["docs"] if d["location"] == location), [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) > 0)
