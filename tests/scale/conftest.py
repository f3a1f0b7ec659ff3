"""The drivers use each other and what the other tests have."""

import os
import sys

HERE = os.path.dirname(__file__)
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "crash")]
