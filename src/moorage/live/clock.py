"""Wall-clock time that never goes back."""

import time


class Clock:
    """Starts at wall time and advances steadily, whatever happens to the machine's wall clock afterwards."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        """Seconds of the epoch."""
        return self._offset + time.monotonic()
