"""The kinds of what is tried: inputs within one process (`case`), and what is done to processes (`attempt`)."""

from tests.attack import checkpoints, command_lines, disks, hostile, kills, records, stores, studies

IN_PROCESS = {module.NAME: module for module in (command_lines, studies, records, stores, checkpoints, hostile)}
TO_PROCESSES = {module.NAME: module for module in (kills, disks)}
KINDS = IN_PROCESS | TO_PROCESSES
