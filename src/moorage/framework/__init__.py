"""The contract between plugins and the scheduler: extension points, statuses, registry, the runner.

Knows no plugin by name."""
