"""The marked line of a program, and a program with a rewritten statement, for tests of findings."""

import inspect
import re
import textwrap


def marked(function):
    """The number of the line of a function that ends in `# <-`."""
    lines, first = inspect.getsourcelines(function)
    (offset,) = [i for i, line in enumerate(lines) if line.rstrip().endswith("# <-")]
    return first + offset


def rewritten(function, finding):
    """The function with the rewritten statement in its source."""
    lines, first = inspect.getsourcelines(function)
    start = finding.line.number - first
    stop = next(  # the statement may have several lines
        n
        for n in range(start + 1, len(lines) + 1)
        if re.sub(r"\s", "", "".join(line.partition("#")[0] for line in lines[start:n])).rstrip(",")
        == re.sub(r"\s", "", finding.before).rstrip(",")
    )
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    lines[start:stop] = [f"{indent}{finding.after}\n"]
    names = dict(function.__globals__)
    exec(textwrap.dedent("".join(lines)), names)
    return names[function.__name__]
