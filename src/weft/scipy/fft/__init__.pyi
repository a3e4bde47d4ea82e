# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .dct import dct as dct, dctn as dctn, idct as idct, idctn as idctn
from .dst import dst as dst, dstn as dstn, idst as idst, idstn as idstn
