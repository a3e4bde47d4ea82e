"""Sources finds the text of the user's lines, for advice; line_of returns the line of an equation.

Equations have the name of a file and a line number (`compiler/optimized.py: Line`); this module
finds the file, and the places that a finding proposes to change.
"""

import ast
import linecache
import os
import re
import sys
from types import CodeType
from typing import Any

from ..compiler.optimized import UNKNOWN, Line
from ..core.source import unwrapped
from ..core.source_location import SourceLocation
from ..user_lines import HERE, Place

_READ = re.compile(
    r"\bfloat\(|\bint\(|\bbool\(|\bprint\(|\.item\(|\.tolist\(|asarray\(|\barray\(|\bif\b|\bwhile\b"
    r"|\.copy\(|\bf[\"']|\.format\(|\b(?:onp|numpy)\."
)
_DTYPE = re.compile(r"\bastype\(|float64|float_?\b|dtype ?=")


def line_of(source: SourceLocation | None) -> Line:
    """The line of an equation."""
    place = source.place if source is not None else None
    return Line(*place) if place is not None else UNKNOWN


def is_part_of_weft(function: Any) -> bool:
    """True for a function that is defined in weft itself."""
    code = getattr(unwrapped(function), "__code__", None)
    return isinstance(code, CodeType) and code.co_filename.startswith(HERE)


class Sources:
    """The files of the user's lines, by their names."""

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}

    def add(self, path: str) -> None:
        """Stores the path of a file."""
        if path:
            self.paths.setdefault(os.path.basename(path), path)

    def at(self, place: Place) -> Line:
        """The line of a call."""
        self.add(place.file)
        return Line(os.path.basename(place.file), place.line) if place.line else UNKNOWN

    def path(self, name: str) -> str:
        """The path of a file; its name if it is unknown."""
        if name not in self.paths:
            for module in list(sys.modules.values()):
                file = getattr(module, "__file__", None)
                if isinstance(file, str) and os.path.basename(file) == name:
                    self.paths[name] = file
                    break
        return self.paths.get(name, name)

    def text(self, line: Line) -> str:
        """The text of a line, without the spaces around it; empty if it is unknown."""
        if not line.number:
            return ""
        return without_comment(linecache.getline(self.path(line.file), line.number)).strip()

    def statement(self, line: Line) -> str:
        """The text of a line and its continuation lines, eight lines at most."""
        lines, depth = [], 0
        for number in range(line.number, line.number + 8):
            text = self.text(line._replace(number=number))
            lines.append(text)
            depth += sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
            if depth <= 0:
                break
        return " ".join(lines)

    def definition(self, function: Any) -> Line:
        """The line of `def`, or of the lambda, of a function."""
        code = getattr(unwrapped(function), "__code__", None)
        if not isinstance(code, CodeType):
            return UNKNOWN
        self.add(code.co_filename)
        line = Line(os.path.basename(code.co_filename), code.co_firstlineno)
        for number in range(line.number, line.number + 20):  # decorators come first
            if re.match(r"\s*(async )?def ", self.text(line._replace(number=number))):
                return line._replace(number=number)
            if not self.text(line._replace(number=number)).startswith("@"):
                break
        return line

    def where_jitted(self, function: Any) -> Line:
        """The line that calls `jit` for a function: a decorator, or `jit(name)`; otherwise the line
        of its definition."""
        code = getattr(unwrapped(function), "__code__", None)
        start = self.definition(function)
        if not isinstance(code, CodeType) or start is UNKNOWN:
            return start
        for number in range(code.co_firstlineno, start.number + 1):
            if re.search(r"\bjit\b", self.text(start._replace(number=number))):
                return start._replace(number=number)
        pattern = re.compile(rf"\bjit\(\s*(?:\w+\.)*{re.escape(code.co_name)}\b")
        for number, text in enumerate(linecache.getlines(self.path(start.file)), 1):
            if pattern.search(text):
                return start._replace(number=number)
        return start

    def loop_variable(self, line: Line) -> str:
        """The variable of the loop around a line; `step` if there is none."""
        indent = self.indent(line)
        for number in range(line.number - 1, max(0, line.number - 60), -1):
            above = line._replace(number=number)
            if self.text(above) and self.indent(above) < indent:
                indent = self.indent(above)
                match = re.match(r"for (\w+)\b.* in \w*(?:range|enumerate)\(", self.text(above))
                if match and match[1] != "_":
                    return match[1]
        return "step"

    def in_loop(self, line: Line) -> bool:
        """True if a line is in a loop of its function, or if another function of the file calls its
        function in a loop."""
        above, name = self.around(line)
        if "loop" in above:
            return True
        if not name:
            return False
        call = re.compile(rf"\b{re.escape(name)}\(")
        for number, text in enumerate(linecache.getlines(self.path(line.file)), 1):
            if call.search(text):
                around, function = self.around(line._replace(number=number))
                if function and "loop" in around:
                    return True
        return False

    def around(self, line: Line) -> tuple[list[str], str]:
        """The loops around a line in its function, as "loop", and the name of the function."""
        indent, blocks = self.indent(line), list[str]()
        for number in range(line.number - 1, 0, -1):
            above = line._replace(number=number)
            text = self.text(above)
            if text and self.indent(above) < indent:
                indent = self.indent(above)
                if match := re.match(r"(?:async )?def (\w+)", text):
                    return blocks, match[1]
                if re.match(r"(for|while)\b", text):
                    blocks.append("loop")
            if indent == 0:
                break
        return blocks, ""

    def indent(self, line: Line) -> int:
        """The number of spaces in front of a line."""
        text = linecache.getline(self.path(line.file), line.number)
        return len(text) - len(text.lstrip())

    def assignment(self, name: str, line: Line) -> Line:
        """The nearest line above that assigns a variable; `line` itself if none is close."""
        for number in range(line.number - 1, max(0, line.number - 20), -1):
            if re.match(rf"{re.escape(name)} *=[^=]", self.text(line._replace(number=number))):
                return line._replace(number=number)
        return line

    def argument(self, line: Line, position: int) -> str:
        """The text of the argument at a position of the call in a line; empty if unknown."""
        try:
            tree = ast.parse(self.statement(line).rstrip(":"))
        except SyntaxError:
            return ""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and len(node.args) > position:
                return ast.unparse(node.args[position])
        return ""

    def reads(self, line: Line) -> bool:
        """True if a line's text reads values (`float(`, `print(`, `if`, …), or is unknown."""
        text = self.statement(line)
        return not text or bool(_READ.search(text))

    def states_dtype(self, line: Line) -> bool:
        """True if a line's text names a dtype or converts to one."""
        return bool(_DTYPE.search(self.statement(line)))


def without_comment(text: str) -> str:
    """A line without the comment at its end."""
    quote = ""
    for i, c in enumerate(text):
        if c in "\"'" and (not quote or quote == c):
            quote = "" if quote else c
        elif c == "#" and not quote:
            return text[:i].rstrip()
    return text
