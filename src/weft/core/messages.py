"""Messages for a user who asked for them: through the standard logger named "weft".

`logging` is loaded by the first message: it would be a twentieth of weft's import time.
"""

import importlib


def tell(text: str) -> None:
    """Logs a message as a warning, so that it is seen unless the user has arranged otherwise."""
    importlib.import_module("logging").getLogger("weft").warning("%s", text)
