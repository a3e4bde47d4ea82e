"""Loads TensorFlow and switches it to NumPy's rules. This is the only module of weft that imports
it. TensorFlow can only be switched for the whole process: tensors get NumPy's methods, indexing and
promotion, except that floats have 32 bits instead of 64.
"""

import importlib
import os
from typing import Any

from ..config import config

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # suppresses TensorFlow's log


def _loaded(name: str) -> Any:
    """Imports a module of TensorFlow."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "the backend 'tensorflow-numpy' needs TensorFlow, which can't be imported: "
            f"{error}\n  fix: pip install 'weft[tf]'"
        ) from error


tf = _loaded("tensorflow")
tnp = _loaded("tensorflow.experimental.numpy")
_dtypes = _loaded("tensorflow.python.ops.numpy_ops.np_dtypes")  # this switch has no public name
_dtypes.set_allow_float64(config.enable_x64)
tnp.experimental_enable_numpy_behavior()

NARROW_DTYPES = {
    tf.float64: tf.float32,
    tf.int64: tf.int32,
    tf.uint64: tf.uint32,
    tf.complex128: tf.complex64,
}
"""The 64-bit dtypes, and the dtypes that replace them unless the switch `enable_x64` is on."""


def narrow_dtype(dtype: Any) -> Any:
    """TensorFlow's dtype, with 32 bits if 64 bits are not enabled."""
    dtype = tf.as_dtype(dtype)
    return dtype if config.enable_x64 else NARROW_DTYPES.get(dtype, dtype)


def tensor(x: Any, dtype: Any = None) -> Any:
    """Converts an array, a number or nested lists to a tensor, with 32 bits if 64 bits are not
    enabled."""
    if not tf.is_tensor(x):
        x = tnp.asarray(x)  # this can convert a list of tensors
    result_dtype = narrow_dtype(x.dtype if dtype is None else dtype)
    return x if x.dtype == result_dtype else tf.cast(x, result_dtype)


def numpy_dtype(x: Any) -> Any:
    """The NumPy dtype of a tensor; for bfloat16, the dtype of `ml_dtypes`."""
    return _dtypes.np.dtype(x.dtype.as_numpy_dtype)
