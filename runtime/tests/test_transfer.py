"""Uploads as a whole and in parts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_anneal import FakeAnneal

from anneal_runtime.retry import RetryPolicy
from anneal_runtime.transfer import UrlRefused, upload

CONTENT = bytes(range(25))
QUICK = RetryPolicy(first_delay_s=0.01, give_up_after_s=30.0)


@pytest.fixture
def store() -> Iterator[FakeAnneal]:
    fake = FakeAnneal(assignment={}).start()
    yield fake
    fake.stop()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(CONTENT)
    return path


def parts(store: FakeAnneal, count: int) -> dict[str, Any]:
    return {"name": "weights", "part_size": 10, "urls": [f"{store.url}/store/{number}" for number in range(count)]}


def test_a_file_goes_to_its_url_as_a_whole(store: FakeAnneal, source: Path) -> None:
    upload({"name": "weights", "url": f"{store.url}/store/whole"}, source)
    assert store.objects == {"whole": CONTENT}


def test_an_empty_file_is_uploaded_too(store: FakeAnneal, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    upload({"name": "empty", "url": f"{store.url}/store/empty"}, tmp_path / "empty")
    assert store.objects == {"empty": b""}


def test_each_part_goes_to_its_own_url(store: FakeAnneal, source: Path) -> None:
    upload(parts(store, 3), source)
    assert store.objects == {"0": CONTENT[:10], "1": CONTENT[10:20], "2": CONTENT[20:]}


def test_a_part_that_the_store_cannot_take_now_is_sent_again(store: FakeAnneal, source: Path) -> None:
    store.refuse["PUT"] = (2, 503, "SlowDown")
    upload(parts(store, 3), source, QUICK)
    assert b"".join(store.objects[key] for key in "012") == CONTENT


def test_a_refused_part_is_a_refused_upload(store: FakeAnneal, source: Path) -> None:
    store.refuse["PUT"] = (1, 403, "AccessDenied")
    with pytest.raises(UrlRefused, match="weights"):
        upload(parts(store, 3), source)
