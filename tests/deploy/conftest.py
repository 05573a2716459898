"""What needs more than an ordinary user, or systemd, is looked at where there is that."""

from __future__ import annotations

import os
import shutil

collect_ignore = [
    *([] if os.geteuid() == 0 else ["test_another_user.py"]),
    *([] if shutil.which("systemd-analyze") else ["test_units.py"]),
]
