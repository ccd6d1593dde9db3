"""What a large cluster takes of memory, measured in a process of its own."""

import subprocess
import sys

_SCRIPT = """
from pathlib import Path
from bench.clusters import a_cluster
from moorage.engine import make_engine
snapshot = a_cluster({nodes}, running={pods})
make_engine(snapshot)
# Not getrusage: its high-water mark is inherited from the process that started this one.
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""


def mebibytes(nodes: int, pods: int) -> int:
    """The largest resident size of a process that holds so many nodes and pods."""
    script = _SCRIPT.format(nodes=nodes, pods=pods)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return int(done.stdout)
