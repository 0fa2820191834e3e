"""Which of the files that wait go into the next call of LibreOffice."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from beholder.evidence.soffice_batch import LEAST_SHARE, Item, next_batch

TARGETS = st.sampled_from(["pdf", "ods"])


@given(
    st.lists(st.tuples(TARGETS, st.booleans()), max_size=40),
    st.integers(1, 20),
    st.integers(-2, 4),
    st.data(),
)
def test_every_file_has_its_turn(
    files: list[tuple[str, bool]], most: int, parts: int, data: st.DataObject
) -> None:
    """A batch is the oldest file and the next ones like it, within its bounds; at last none is left."""
    loop = asyncio.new_event_loop()
    try:
        waiting = []
        for name, (target, left) in enumerate(files):
            done = loop.create_future()
            if left:
                done.cancel()
            # Nothing is called here, so that no program is needed.
            waiting.append(Item(str(name), "", b"", cast("Any", target), cast("Any", None), done))
        while batch := next_batch(waiting, most=most, parts=parts):
            open_ = [item for item in waiting if not item.done.cancelled()]
            same = [item for item in open_ if item.target == open_[0].target]
            assert batch == same[: len(batch)]
            assert len(batch) <= most
            if len({item.target for item in open_}) == 1 and parts > 1:
                assert len(batch) <= max(LEAST_SHARE, -(-len(same) // parts))
            waiting = [item for item in waiting if item not in batch]
            parts = data.draw(st.integers(-2, 4))
        assert all(item.done.cancelled() for item in waiting)
    finally:
        loop.close()
