from collections.abc import Iterator

import pytest
from support.fake_anneal import FakeAnneal


@pytest.fixture
def anneal() -> Iterator[FakeAnneal]:
    fake = FakeAnneal(assignment={}).start()
    yield fake
    fake.stop()
