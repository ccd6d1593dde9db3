"""docs/plugins/faults.md: tables of what comes of whatever a plugin does wrong, each written by a test of its own."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[2] / "docs" / "plugins" / "faults.md"

OF_PODS, OF_GROUPS, OF_LIFE = "At the points of a pod", "At the points of groups", "Before, beside and after"
HEADINGS: Final = (OF_PODS, OF_GROUPS, OF_LIFE)

HEAD: Final = """\
# What a plugin may do wrong, and what comes of it

Nothing a plugin does ends the process, loses a pod or spins. The tables are written by tests that do all of it, to the
embedded API server and to a real one, with other pods bound meanwhile; no pod was tried more than 12 times in 5 s.
Members of a group share its fate.

* **fails**: that attempt of that pod fails. Condition and event name the plugin, the point, and the file and line; the
  log has a traceback, once for each plugin, point and line. The pod is tried again after 1 s, 2 s, 4 s and so on.
  (A score out of range is told in kube-scheduler's words, which know no line.)
* **kept out**: the pod stays out of the queue, as if the gate were closed, until one of the plugin's events.
* **bound**: the log tells of it, and the pod goes its way. At QueueSort (`less`, too) it stands behind all others in
  order of priority and time; a queueing hint that fails in any way counts as QUEUE.
* **no help**: a dry run of preemption that breaks makes its node one that does not help; what the pod is told says
  who broke, and where.
* **undone**: what the attempt took is given back by all other plugins, and the pod is tried again.
* **all wait**: a plugin that blocks holds up everything: nobody is decided or bound, the lease is not renewed. After
  5 s of it the log names plugin, method, pod and line, and `moorage_event_loop_blocks_total` counts it; then all goes
  on. PreBind, Bind and PostBind may be declared to run in a worker thread: `worker_thread = ("pre_bind",)`.
* **refused**: the process does not start: exit status 2, and one line that names the plugin, the file and the line.
* **told**: it has ended and is not begun again, and `/readyz` says so; the log has the line. Of `stop`, only the log.
* **late**: the process starts that much later.
* **-**: cannot be told from a right answer, or is one.

`KeyboardInterrupt` alone is let pass. Repeats are counted in `moorage_plugin_faults_total`. Told to stop, the process
ends within 10 s whatever plugins do.

"""


def compare(heading: str, points: Iterable[str], kinds: Sequence[str], found: Mapping[tuple[str, str], str]) -> None:
    """Hold a table of the page against what was found."""
    rows = [
        "| point | " + " | ".join(kinds) + " |",
        "|---|" + "---|" * len(kinds),
        *(f"| {point} | " + " | ".join(found.get((point, kind), "-") for kind in kinds) + " |" for point in points),
    ]
    section = f"## {heading}\n\n" + "\n".join(rows) + "\n"
    if os.environ.get("MOORAGE_WRITE_DOCS"):
        sections = {**_sections(), heading: section}
        PAGE.write_text(HEAD + "\n".join(sections[one] for one in HEADINGS if one in sections))
    assert section in PAGE.read_text(), f"{PAGE} is not what was found: MOORAGE_WRITE_DOCS=1 writes it anew"


def _sections() -> dict[str, str]:
    """The tables of the page by their headings."""
    parts = PAGE.read_text().split("\n## ")[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in parts}
