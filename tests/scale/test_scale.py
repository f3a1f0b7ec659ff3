"""The drivers of this folder at a size that fits into every run; README.md has the sizes that mean something.

What depends on how fast and how idle the machine is (p99, the minute) is printed here and judged only in the long form.
"""

import expiring_items
import index_under_writes
from stator_process import StatorProcess

ITEMS = 20_000


def test_an_index_built_under_writes_and_kills_is_what_the_table_says(tmp_path):
    index_under_writes.run(tmp_path / "data", ITEMS, kills=3)


def test_expired_items_leave_the_table_and_its_indexes(tmp_path):
    with StatorProcess("--data-dir", str(tmp_path / "data")) as server:
        for report in expiring_items.run(server, ITEMS, idle_s=1, indexes=1):
            print(report)
            assert report.gone_s < 60
