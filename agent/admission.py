"""Admission is a lease: a call is answered only while it holds a media slot here and a worker slot (the open session)."""

from types import TracebackType

from agent.errors import Capacity


class Lease:
    """One slot. Giving it back twice is harmless."""

    def __init__(self, slots: "Slots") -> None:
        self._slots: Slots | None = slots

    def release(self) -> None:
        """Give the slot back."""
        slots, self._slots = self._slots, None
        if slots:
            slots.taken -= 1

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


class Slots:
    """A counted number of media slots. Taken and given on one loop, so no two calls get the last one."""

    def __init__(self, total: int, retry_after_s: int = 5) -> None:
        self.total = total
        self.taken = 0
        self._retry_after_s = retry_after_s

    def take(self) -> Lease:
        """Raises `Capacity` when none is free."""
        if self.taken >= self.total:
            raise Capacity(f"all {self.total} media slots are taken; try again in {self._retry_after_s} s", self._retry_after_s)
        self.taken += 1
        return Lease(self)
