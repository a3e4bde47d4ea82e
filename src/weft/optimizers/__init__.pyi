# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import (
    adafactor as adafactor,
    adam as adam,
    base as base,
    momentum as momentum,
    rms_prop as rms_prop,
    sm3 as sm3,
    trainer as trainer,
)
from .adafactor import Adafactor as Adafactor
from .adam import Adam as Adam
from .base import SGD as SGD, Optimizer as Optimizer, clip_grads as clip_grads, l2_norm as l2_norm
from .momentum import Momentum as Momentum
from .optax import from_optax as from_optax
from .reversible_trainer import (
    ReversibleSerialTrainer as ReversibleSerialTrainer,
    extract_reversible_blocks as extract_reversible_blocks,
    init_reversible_blocks as init_reversible_blocks,
)
from .rms_prop import RMSProp as RMSProp
from .sm3 import SM3 as SM3, MomentumType as MomentumType
from .trainer import Trainer as Trainer
