"""Why a primitive lacks a rule. A missing rule is a statement; here is the reason for each."""

NOT_LINEAR = "not linear in any argument"

HOLES: dict[str, dict[str, str]] = {}


def reasons(name: str) -> dict[str, str]:
    """The reasons given for a primitive; by default only that it isn't linear."""
    return {"transpose": NOT_LINEAR, **HOLES.get(name, {})}
