"""Draws the curve of examples/language_model.py: python docs/site/language_model_curve.py RUN

RUN is the folder of a run, `--folder` of the example. The picture has colours that can be read on
light and on dark pages.
"""

import lzma
import pathlib
import sys

from weft.supervised.curves import curve
from weft.supervised.metric_files import read_metrics

ROOT = pathlib.Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "assets" / "training" / "language_model.svg"
sys.path.append(str(ROOT / "examples"))

import language_model  # noqa: E402

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #787e88; }
.grid { stroke: #787e88; stroke-opacity: 0.25; }
.axis { stroke: #787e88; }
.line { fill: none; stroke-width: 2; }
polyline.mode-0 { stroke: #3b82f6; }
circle.mode-0, .name-0 { fill: #3b82f6; }
polyline.mode-1 { stroke: #d97706; stroke-dasharray: 6 4; }
circle.mode-1 { fill: none; }
.name-1 { fill: #d97706; }
"""


def main() -> None:
    """Writes the picture."""
    _, counted = language_model.evaluation(language_model.load()[1])
    xz = 8 * len(lzma.compress(counted, preset=9)) / len(counted)
    bits = read_metrics(sys.argv[1]).series["", "eval", "metrics/BitsPerByte"]
    points = [(step, value) for step, value in bits if step > 1]
    ends = points[0][0], points[-1][0]
    drawing = curve({"the model": points, "xz -9": [(step, xz) for step in ends]})
    names = (
        '<text class="name-0" x="170" y="42">the model: 10 million weights</text>'
        '<text class="name-1" x="170" y="60">xz -9</text>'
        '<text x="170" y="24">bits per byte of held-out text, by step</text>'
    )
    begin, _, rest = drawing.partition(">")
    begin = begin.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    text = f"{begin}><style>{STYLE}</style>{rest.removesuffix('</svg>')}{names}</svg>\n"
    PICTURE.write_text(text)
    print(f"{PICTURE.relative_to(ROOT)}: {points[-1][1]:.3f} after {ends[1]} steps; xz {xz:.3f}")


if __name__ == "__main__":
    main()
