"""One NumPy-like interface on three backends: weft, TensorFlow and NumPy.

    from weft import fastmath
    from weft.fastmath import numpy as np

`use_backend` chooses the backend of a thread within a `with` statement; `set_backend` chooses it
for the process.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "nested": """
            nested_map nested_map_multiarg nested_stack nested_zip tree_flatten tree_leaves
            tree_unflatten
        """,
        "ops": """
            Backend NumpyBackend RandomBackend UnavailableError abstract_eval avg_pool backend
            backend_name cond conv custom_grad custom_vjp dataset_as_numpy disable_jit dynamic_slice
            dynamic_slice_in_dim dynamic_update_slice dynamic_update_slice_in_dim erf expit
            fori_loop global_device_count grad index_add index_max index_min index_update is_backend
            jit local_device_count logsumexp lt map max_pool numpy pmap psum random remat scan
            set_backend sigmoid sort_key_val stop_gradient sum_pool top_k use_backend value_and_grad
            vjp vmap
        """,
    },
    modules="ops",
)
