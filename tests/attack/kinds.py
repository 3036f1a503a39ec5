"""The kinds of what is tried: inputs within one process (`case`), and what is done to processes (`attempt`)."""

from tests.attack import disks, kills, mixed

IN_PROCESS = {module.NAME: module for module in mixed.MODULES}
TO_PROCESSES = {module.NAME: module for module in (kills, disks)}
KINDS = IN_PROCESS | TO_PROCESSES
KNOWN = {**KINDS, mixed.NAME: mixed}
