"""A pytest plugin: `pytest -p weft.compat.pytest_plugin` installs weft.compat at startup.

`WEFT_COMPAT_YEAR` chooses the year, "today" by default.
"""

import os
import sys

from .installation import install


def pytest_plugin_registered(plugin: object) -> None:
    """Installs weft.compat when pytest registers this plugin, before other plugins."""
    if plugin is sys.modules[__name__]:
        install(os.environ.get("WEFT_COMPAT_YEAR", "today"))
