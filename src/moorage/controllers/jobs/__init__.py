"""Jobs: pods that run until enough have succeeded.

ending       whether a Job has ended: complete, failed, past its deadline
counting     pods into counts, each exactly once, by a finalizer that holds it until it is counted
indexes      the same where each completion has a number: which are done, which pod is for which
controller   all of it, for one Job at a time
"""

from moorage.controllers.jobs.controller import JobController

__all__ = ["JobController"]
