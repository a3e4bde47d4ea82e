"""TensorFlow, loaded and set to NumPy's rules. The only module of weft that imports it.

Loading it changes the process, as TensorFlow has no other way: tensors get NumPy's methods,
indexing and promotion, and floats have 32 bits, where they would have 64 by NumPy's rules.
"""

import importlib
import os
from typing import Any

from ..config import config

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read when TensorFlow is loaded: no chatter


def _loaded(name: str) -> Any:
    """A module of TensorFlow's."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "the backend 'tensorflow-numpy' needs TensorFlow, which can't be imported: "
            f"{error}\n  fix: pip install 'weft[tf]'"
        ) from error


tf = _loaded("tensorflow")
tnp = _loaded("tensorflow.experimental.numpy")
_dtypes = _loaded("tensorflow.python.ops.numpy_ops.np_dtypes")  # its switch has no public name
_dtypes.set_allow_float64(config.enable_x64)
tnp.experimental_enable_numpy_behavior()

NARROW_DTYPES = {
    tf.float64: tf.float32,
    tf.int64: tf.int32,
    tf.uint64: tf.uint32,
    tf.complex128: tf.complex64,
}
"""The dtypes of 64-bit numbers, and what they become unless the switch `enable_x64` is on."""


def narrow_dtype(dtype: Any) -> Any:
    """TensorFlow's dtype, of 32 bits where 64 aren't allowed."""
    dtype = tf.as_dtype(dtype)
    return dtype if config.enable_x64 else NARROW_DTYPES.get(dtype, dtype)


def tensor(x: Any, dtype: Any = None) -> Any:
    """A tensor of an array, a number or nested lists; of 32 bits where 64 aren't allowed."""
    if not tf.is_tensor(x):
        x = tnp.asarray(x)  # which knows how to make one of a list of tensors
    result_dtype = narrow_dtype(x.dtype if dtype is None else dtype)
    return x if x.dtype == result_dtype else tf.cast(x, result_dtype)


def numpy_dtype(x: Any) -> Any:
    """NumPy's dtype of a tensor.

    NumPy has no bfloat16: for a bfloat16 tensor this is the dtype of `ml_dtypes`.
    """
    return _dtypes.np.dtype(x.dtype.as_numpy_dtype)
