"""How much longer a server may take here than one of a usual build: STATOR_SLOW, a factor, for sanitized ones. Limits of
time grow by it. What a sanitizer adds to the memory of a process is its own, so that such limits are not looked at."""

import os

SLOWER = float(os.environ.get("STATOR_SLOW", "1"))
MEMORY_IS_ITS_OWN = SLOWER == 1
