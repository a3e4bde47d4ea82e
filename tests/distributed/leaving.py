"""Process 0 waits to leave, is interrupted, and leaves again; process 1 comes later."""

import os
import signal
import threading
import time

import weft

weft.distributed.initialize()
if weft.process_index() == 0:
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    try:
        weft.distributed.shutdown()
    except KeyboardInterrupt:
        print("interrupted")
else:
    time.sleep(3)
weft.distributed.shutdown()
print("left")
