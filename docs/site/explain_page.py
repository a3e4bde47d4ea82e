"""Makes the picture in docs/explain.md: python docs/site/explain_page.py

Explains the program below, and has Chromium draw the top of its page, light and dark. Needs
chromium and Pillow.
"""

import pathlib
import tempfile

from PIL import Image
from training_report import on_both_screens

from weft.explanation import explain_program

PICTURE = pathlib.Path(__file__).parents[1] / "assets" / "explain.png"

PROGRAM = """\
import weft
import weft.numpy as np
from weft import nn, random

def loss(params, ids, labels):
    x = nn.one_hot(ids, 2000) @ params["table"]
    for w in params["layers"]:
        x = np.tanh(x @ w)
    scores = nn.log_softmax(x @ params["out"])
    return -np.mean(np.take_along_axis(scores, labels[:, None], 1))

@weft.jit
def step(params, rate, ids, labels):
    value, g = weft.value_and_grad(loss)(params, ids, labels)
    return weft.tree_map(lambda p, g: p - rate * g, params, g), value

key = random.key(0)
params = {
    "table": 0.1 * random.normal(key, (2000, 512)),
    "layers": [0.05 * random.normal(key, (512, 512)) for _ in range(3)],
    "out": 0.05 * random.normal(key, (512, 10)),
}
ids = random.randint(key, (256,), 0, 2000)
labels = ids % 10

for i in range(30):
    rate = 0.1 if i < 20 else np.float32(0.01)
    params, value = step(params, rate, ids, labels)
    print(i, value)
"""


def main() -> None:
    """Writes the picture: the page on a wide screen and, dark, on a telephone."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "train.py"
        program.write_text(PROGRAM)
        explanation, _ = explain_program(str(program))
        print(explanation)
        page = str(pathlib.Path(explanation.save(pathlib.Path(folder) / "train.html")))
        both = on_both_screens(page, pathlib.Path(folder))
        both.quantize(64, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
