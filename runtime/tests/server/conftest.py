from collections.abc import Iterator

import pytest
from server.support.file_host import FileHost
from server.support.llama import serve_with_llama
from server.support.lora_files import ReferenceAdapters
from server.support.running import MINILM, REPOSITORY, TINY, RunningServer, serve


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> RunningServer:
    return serve(TINY, tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> RunningServer:
    """The model of `tiny`."""
    return serve_with_llama(REPOSITORY / "models/anneal-tiny", tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="session")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> RunningServer:
    return serve(MINILM, tmp_path_factory.mktemp("minilm"))


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileHost]:
    with FileHost(tmp_path_factory.mktemp("host")) as host:
        yield host


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> ReferenceAdapters:
    return ReferenceAdapters(REPOSITORY / "models/anneal-tiny", tmp_path_factory.mktemp("lora"))
