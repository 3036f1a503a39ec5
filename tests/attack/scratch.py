"""The scratch folder: what the attack starts can write only there, has no network, and sees no other process."""

import os
import resource
import subprocess
from functools import cache
from pathlib import Path

MEMORY = 10 * 2**30
LARGEST_FILE = 200 * 2**20
SPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--net")
READ_ONLY = """mount -t tmpfs attack /dev/shm; mount --bind "$1" "$1" && cd "$1" || exit 9
cut -d' ' -f2 /proc/self/mounts | while read -r place; do
  case "$place" in "$1"|/proc*|/sys*|/dev/shm) ;; *) mount -o remount,ro,bind "$place" 2>/dev/null ;; esac
done
export ATTACK_CONFINED=1; shift; exec "$@"
"""


@cache
def sandbox() -> tuple[str, ...]:
    """The command that gives a command namespaces of its own; none where the machine does not allow it."""
    for way in (SPACES, (*SPACES, "--user", "--map-root-user")):
        try:
            done = subprocess.run([*way, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        except OSError:
            return ()
        if done.returncode == 0:
            return way
    return ()


def confined(command: list[str], scratch: Path) -> list[str]:
    """A command that can write into the scratch folder alone, where namespaces are allowed."""
    way = sandbox()
    return [*way, "sh", "-c", READ_ONLY, "sh", str(scratch), *command] if way else command


def environment(scratch: Path, **more: str) -> dict[str, str]:
    """The environment variables of what the attack starts; home and temporary files are in the scratch folder."""
    from tests.conftest import process_environment

    own = {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "OMP_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(scratch / "numba"),
    }
    return process_environment(**own, PYTHONDONTWRITEBYTECODE="1", **more)


def limit_resources() -> None:
    """Limits the memory and the files of this process and those that it starts."""
    os.umask(0o022)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
