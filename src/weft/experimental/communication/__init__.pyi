# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .costs import (
    Collective as Collective,
    Link as Link,
    Network as Network,
    bytes_sent as bytes_sent,
    seconds as seconds,
    table as table,
)
from .programs import collectives as collectives
from .transformers import (
    GPT2_SMALL as GPT2_SMALL,
    Parameter as Parameter,
    Transformer as Transformer,
    predicted as predicted,
)
