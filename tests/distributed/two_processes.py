"""The example of JAX's documentation of `pmap` on two processes."""

import weft
import weft.numpy as np
from weft import lax, pmap

weft.distributed.initialize()
f = lambda x: x + lax.psum(x, axis_name="i")  # noqa: E731
data = np.arange(4) if weft.process_index() == 0 else np.arange(4, 8)
out = pmap(f, axis_name="i")(data)
print(out)
