"""Runs interactive examples: what is printed must be what the text says, floats to five digits."""

import doctest
import math
import re

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FLOAT = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")


class CloseNumbers(doctest.OutputChecker):
    """Takes floats for equal that differ in the last digits, as those of NumPy and XLA do."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        expected, found = FLOAT.findall(want), FLOAT.findall(got)
        if len(expected) == len(found):
            pairs = zip(expected, found, strict=True)
            close = (e if math.isclose(float(e), float(f), rel_tol=1e-5) else f for e, f in pairs)
            got = FLOAT.sub(lambda _: next(close), got)
        want, got = (re.sub(r"(?<=\[) +| +(?=\])", "", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def without_what_follows(text: str) -> str:
    """The text without lines that end an example by being indented less, as `Source:` does."""
    lines, indent = [], None
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(" "))
        if line[depth:].startswith(">>> "):
            indent = depth
        elif not line.strip():
            indent = None
        elif indent is not None and depth < indent:
            line, indent = "", None
        lines.append(line)
    return "\n".join(lines)


def run_session(text: str, names: dict[str, object], where: str, line: int = 0) -> str:
    """Runs the examples in a text; gives what doctest has to say against them.

    `names` are what the examples see; what they define is added.
    """
    parser = doctest.DocTestParser()
    test = parser.get_doctest(without_what_follows(text), names, where, where, line)
    test.globs = names  # get_doctest made a copy: later blocks need what this one defines
    said: list[str] = []
    runner = doctest.DocTestRunner(CloseNumbers(), verbose=False, optionflags=OPTIONS)
    runner.run(test, out=said.append, clear_globs=False)
    return "".join(said)
