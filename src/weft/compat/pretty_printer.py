"""Documents that are formatted to a width, like `jax._src.pretty_printer`. The algorithm is
Wadler's (A prettier printer, 2003): a group is written on one line if it fits; otherwise its breaks
become new lines.
"""

from collections.abc import Sequence
from typing import Any


class Doc:
    """A document.

    Args:
      kind: "text", "break", "concat", "nest" or "group".
      content: the text, the text of a break within one line, or the inner documents.
      indent: the columns by which a "nest" indents new lines.
    """

    def __init__(self, kind: str, content: Any, indent: int = 0) -> None:
        self.kind, self.content, self.indent = kind, content, indent

    def __add__(self, other: "Doc") -> "Doc":
        return concat([self, other])

    def format(self, width: int = 80, **options: Any) -> str:
        """The text of the document, in lines of at most `width` columns where possible."""
        pieces: list[str] = []
        column = 0
        todo = [(0, False, self)]
        while todo:
            indent, is_flat, doc = todo.pop()
            if doc.kind == "text" or (doc.kind == "break" and is_flat):
                pieces.append(doc.content)
                column += len(doc.content)
            elif doc.kind == "break":
                pieces.append("\n" + " " * indent)
                column = indent
            elif doc.kind == "group":
                contents = doc.content[0]
                todo.append((indent, is_flat or _fits(contents, width - column), contents))
            else:
                todo += [(indent + doc.indent, is_flat, d) for d in reversed(doc.content)]
        return "".join(pieces)

    __str__ = format


def _fits(doc: Doc, width: int) -> bool:
    todo = [doc]
    while todo and width >= 0:
        doc = todo.pop()
        if doc.kind in ("text", "break"):
            width -= len(doc.content)
        else:
            todo += reversed(doc.content)
    return width >= 0


def nil() -> Doc:
    """The empty document."""
    return text("")


def text(s: str, *annotations: Any, **options: Any) -> Doc:
    """A text on one line."""
    return Doc("text", s)


def brk(text: str = " ") -> Doc:
    """A new line, or this text if the group is written on one line."""
    return Doc("break", text)


def concat(docs: Sequence[Doc]) -> Doc:
    """Concatenates documents."""
    return Doc("concat", list(docs))


def nest(indent: int, doc: Doc) -> Doc:
    """A document whose new lines are indented further."""
    return Doc("nest", [doc], indent)


def group(doc: Doc) -> Doc:
    """A document that is written on one line if it fits."""
    return Doc("group", [doc])


def join(separator: Doc, docs: Sequence[Doc]) -> Doc:
    """Joins documents with a separator."""
    parts = [part for doc in docs for part in (separator, doc)]
    return concat(parts[1:])
