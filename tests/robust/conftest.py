"""The reader of the API's shapes lives in tests/tools."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools"))
