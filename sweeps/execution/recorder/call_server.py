"""The recorder's end of a driver's calls: served while records are carried, and after."""

import os
from threading import Thread

from sweeps.execution.channel import Channel
from sweeps.execution.recorder.calls import (
    FROM_DRIVER,
    Answer,
    Call,
    Carry,
    Ended,
    Serve,
    answered,
)
from sweeps.tracking.store import RecordStore, RecordWriter


class CallServer:
    """Answers calls of the driver, one after the other, until it is gone.

    Args:
        reading: Descriptor that calls come from.
        writing: Descriptor that takes answers.
    """

    def __init__(self, reading: int, writing: int) -> None:
        for descriptor in (reading, writing):
            os.set_inheritable(descriptor, False)
        self._channel = Channel(reading, writing)
        self._store: RecordStore | None = None
        self._writer: RecordWriter | None = None

    def whom(self) -> Serve | None:
        """Return which store this process is for, None where the driver is gone."""
        try:
            line = self._channel.receive()
        except EOFError:
            return None
        message = FROM_DRIVER.validate_json(line or b"")
        assert isinstance(message, Serve)
        return message

    def serve(self, store: RecordStore) -> bool:
        """Answer until the driver says that records are to be carried; False if it is gone."""
        self._store = store
        return self._serve()

    def go_on(self) -> None:
        """Answer from now on in a thread, until the driver is gone."""
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def tell_end(self, exit_code: int) -> None:
        """Tell how carrying has ended, and answer until the driver is gone."""
        try:
            self._channel.send(Ended(exit_code=exit_code))
        except BrokenPipeError:
            return
        self._thread.join()

    def _serve(self) -> bool:
        while True:
            try:
                message = FROM_DRIVER.validate_json(self._channel.receive() or b"")
                if isinstance(message, Carry):
                    return True
                if isinstance(message, Call):
                    self._channel.send(self._answered(message))
            except (EOFError, BrokenPipeError):
                return False

    def _answered(self, call: Call) -> Answer:
        if call.is_anew:
            self._writer = None
        return answered(call, self._opened)

    def _opened(self) -> RecordWriter:
        assert self._store is not None
        if self._writer is None:
            self._writer = self._store.writer()
        return self._writer
