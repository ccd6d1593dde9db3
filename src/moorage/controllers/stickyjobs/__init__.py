"""StickyJobs: one pod at a time, on the node it last ran on.

runs        how a pod's run stands and how it ended
statuses    from runs to the status of a job
controller  the loop
"""

from moorage.controllers.stickyjobs.controller import StickyJobController

__all__ = ["StickyJobController"]
