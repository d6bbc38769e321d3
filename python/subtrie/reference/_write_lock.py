"""Writers take turns, readers do not wait: one lock for the writers of all tries.

It is held across a fork, so that no child inherits it taken.
"""

from __future__ import annotations

import os
import threading

writing = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=writing.acquire,
        after_in_parent=writing.release,
        after_in_child=writing.release,
    )
