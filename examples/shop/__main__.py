"""Run the demo: ``python -m examples.shop``."""

import sys

from .demo import main

sys.exit(main())
