"""The lock of the writers of all indexes; readers take no lock.

It is acquired before a fork and released after it, so that no child inherits a locked lock.
"""

from __future__ import annotations

import os
import threading

write_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=write_lock.acquire,
        after_in_parent=write_lock.release,
        after_in_child=write_lock.release,
    )
