"""The two engines, by name: whatever is in both is tested in both."""

from __future__ import annotations

from types import ModuleType

import subtrie._subtrie
import subtrie.reference

ENGINES: dict[str, ModuleType] = {
    "native": subtrie._subtrie,
    "reference": subtrie.reference,
}
