"""StickyJob: brings the pod of a job back to the node it last ran on.

homes    which node a pod wants back, and until when it waits for it
trouble  what is wrong with that node
seats    room kept for jobs whose pod is away
plugin   the extension points
"""

from moorage.plugins.sticky_job.plugin import StickyJobPlugin

__all__ = ["StickyJobPlugin"]
