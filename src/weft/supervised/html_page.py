"""html_page makes a self-contained HTML page: head, style sheet, sections.

The page of a run (`run_report.py`) and the page of `weft.explain` use these parts.
"""

import html
import os
from collections.abc import Iterable, Sequence

from ..user_lines import noted

STYLE = """
:root { color-scheme: light dark; --page: #fcfcfb; --card: #fff; --ink: #1c1d21; --soft: #666a73;
  --edge: #e3e4e8; --grid: #ecedf0; --m0: #3b5bdb; --m1: #d9480f; --m2: #2b8a3e; --m3: #9c36b5;
  --bad: #c92a2a; }
@media (prefers-color-scheme: dark) { :root { --page: #16171b; --card: #1e2026; --ink: #e7e8ec;
  --soft: #9a9fab; --edge: #32353d; --grid: #2a2d34; --m0: #91a7ff; --m1: #ff922b; --m2: #69db7c;
  --m3: #e599f7; --bad: #ff8787; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1400px; padding: 20px 16px 60px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 34px 0 10px; }
h3 { font-size: 14px; font-weight: 600; margin: 0 0 4px; overflow-wrap: anywhere; }
p, .soft { color: var(--soft); margin: 0; }
.cards { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); }
.card, pre, .scroll { background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
  padding: 12px; min-width: 0; overflow-wrap: anywhere; }
.tiles { display: grid; gap: 10px; margin-top: 14px;
  grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); }
.tile .soft { font-size: 13px; }
.tile b { display: block; font-size: 20px; font-weight: 600; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg .bad { fill: var(--bad); font-weight: 700; text-anchor: middle; }
.grid { stroke: var(--grid); } .axis { stroke: var(--edge); }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
polyline.mode-0 { stroke: var(--m0); } polyline.mode-1 { stroke: var(--m1); }
polyline.mode-2 { stroke: var(--m2); } polyline.mode-3 { stroke: var(--m3); }
i.mode-0 { background: var(--m0); } i.mode-1 { background: var(--m1); }
i.mode-2 { background: var(--m2); } i.mode-3 { background: var(--m3); }
circle.mode-0 { fill: var(--m0); } circle.mode-1 { fill: var(--m1); }
circle.mode-2 { fill: var(--m2); } circle.mode-3 { fill: var(--m3); }
.key { display: inline-block; margin-right: 12px; font-size: 12.5px; color: var(--soft); }
.key i { display: inline-block; width: 14px; height: 3px; margin-right: 5px;
  vertical-align: middle; }
.scroll { overflow-x: auto; padding: 4px 12px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 6px 0 6px 18px; border-top: 1px solid var(--grid);
  white-space: nowrap; }
tr:first-child th { border-top: 0; color: var(--soft); font-weight: 500; font-size: 13px; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td small { color: var(--soft); }
pre { margin: 0; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; max-height: 420px; overflow-y: auto; }
.samples { display: grid; gap: 12px; }
"""


def html_page(title: str, sections: Iterable[str], style: str = "") -> str:
    """A page as text: HTML that is also valid XML.

    Args:
      style: more rules for the style sheet.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{clean(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n"
        f"{''.join(sections)}</body>\n</html>\n"
    )


def section(title: str, content: str) -> str:
    """A section of a page with a heading; an empty string if it has no content."""
    if not content:
        return ""
    heading = f"<h2>{clean(title)}</h2>\n" if title else '<div style="height:14px"></div>\n'
    return f"<section>\n{heading}{content}</section>\n"


def tile_row(tiles: Sequence[tuple[str, str]]) -> str:
    """Boxes with a label and a value."""
    boxes = "".join(
        f'<div class="card tile"><span class="soft">{clean(label)}</span>'
        f"<b>{clean(value)}</b></div>\n"
        for label, value in tiles
    )
    return f'<div class="tiles">\n{boxes}</div>\n'


def write_page(function: str, path: str, text: str) -> str:
    """Writes a page atomically; returns its path.

    Args:
      function: the public function, for the error.
    Raises: OSError: the file cannot be written.
    """
    try:
        with open(f"{path}.part", "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        os.replace(f"{path}.part", path)
    except OSError as error:
        raise noted(
            type(error)(
                f"{function}: {path} can't be written: {error.strerror}\n"
                f"  fix: {function} with a path that can be written"
            )
        ) from None
    return path


def cut(text: str, length: int) -> str:
    """The text; if it is too long, its beginning and its length."""
    return text if len(text) <= length else f"{text[:length]} … ({len(text):,} characters)"


def clean(text: str) -> str:
    """A text for HTML; characters that XML forbids are replaced."""
    allowed = (c if c >= " " or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return html.escape("".join(allowed))
