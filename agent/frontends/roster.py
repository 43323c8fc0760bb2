"""Which workers there are: kept by whoever starts them, followed by whoever opens calls there."""

import asyncio


class Changes:
    """Tells everybody who waits that something is different now."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def tell(self) -> None:
        """Something is different."""
        self._event.set()
        self._event = asyncio.Event()

    async def next(self) -> None:
        """Return when it is told the next time."""
        await self._event.wait()


class Roster:
    """The addresses where workers can be reached now. `expected`: how many there should be; until then one is waited for."""

    def __init__(self, *addresses: str, expected: int = 0) -> None:
        self.expected = max(expected, len(addresses))
        self._addresses = dict.fromkeys(addresses)
        self._changes = Changes()

    @property
    def addresses(self) -> tuple[str, ...]:
        """In the order in which they came."""
        return tuple(self._addresses)

    def add(self, address: str) -> None:
        """A worker is ready there."""
        self._addresses[address] = None
        self._changes.tell()

    def remove(self, address: str) -> None:
        """The worker there is gone; nothing happens when it was not listed."""
        if address in self._addresses:
            del self._addresses[address]
            self._changes.tell()

    async def changed(self) -> None:
        """Return at the next change."""
        await self._changes.next()
