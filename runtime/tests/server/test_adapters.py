"""Adapters by URL: served as peft would, and refused without harm when they are not what they should be."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from server.support.file_host import FileHost
from server.support.lora_files import FILES, ReferenceAdapters, prompts, with_tensors
from server.support.running import RunningServer, open_to_clients

from anneal_runtime.model_source import weights_sha256

PROMPT = "Question: What is the colour of Anna?\nAnswer: "


def put(server: RunningServer, name: str, files: list[dict[str, Any]]) -> tuple[int, Any]:
    return server.client.call("PUT", f"/agent/v1/adapters/{name}", {"files": files})


def loaded(server: RunningServer) -> list[str]:
    return [model["id"] for model in server.client.call("GET", "/v1/models")[1]["data"]]


def test_rows_of_several_adapters_in_one_batch_answer_as_peft_does(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    made = [
        reference.make(1),
        reference.make(2, rank=4, target_modules=["q_proj", "down_proj"], use_rslora=True),
        reference.make(3, rank=64),
    ]
    for name, files in made:
        assert put(tiny, name, host.publish(name, files)) == (200, {"name": name, "status": "loaded"})
    models = [None, *(name for name, _ in made)]
    asked = prompts(6, seed=9)
    expected = {model: [reference.generate(prompt, model) for prompt in asked] for model in models}
    assert len({tuple(texts) for texts in expected.values()}) == 4

    def ask(model: str | None) -> list[str]:
        return tiny.client.texts(asked, model=model or "anneal-tiny", max_tokens=16)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, models * 2))
    assert answers == [expected[model] for model in models * 2]


def test_an_adapter_may_be_put_again_and_at_once(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    name, files = reference.make(4)
    described = host.publish(name, files)
    with ThreadPoolExecutor(6) as pool:
        assert [status for status, _ in pool.map(lambda _: put(tiny, name, described), range(6))] == [200] * 6
    assert len([path for path in host.requests if name in path]) == len(FILES)
    assert loaded(tiny).count(name) == 1
    assert tiny.client.texts(PROMPT, model=name) == [reference.generate(PROMPT, name)]


def test_removed_adapters_are_unknown_and_may_come_back(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    name, files = reference.make(5)
    described = host.publish(name, files)
    assert put(tiny, name, described)[0] == 200
    for _ in range(2):
        assert tiny.client.call("DELETE", f"/agent/v1/adapters/{name}")[0] == 200
        assert tiny.client.post("/v1/completions", {"model": name, "prompt": "a"})[0] == 404
        assert not (tiny.adapter_folder / name).exists()
    assert put(tiny, name, described)[0] == 200


def test_other_files_under_a_loaded_name_are_refused(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    name, files = reference.make(6)
    assert put(tiny, name, host.publish(name, files))[0] == 200
    _, others = reference.make(7)
    assert put(tiny, name, host.publish("others", others))[0] == 422
    assert tiny.client.texts(PROMPT, model=name) == [reference.generate(PROMPT, name)]


class Broken:
    """Ways to be no adapter of this base, each from a good one."""

    @staticmethod
    def poisoned_with_nan(reference: ReferenceAdapters, name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        tensors = reference.tensors(name)
        next(iter(tensors.values()))[0, 0] = torch.nan
        return with_tensors(files, tensors)

    @staticmethod
    def poisoned_with_huge_numbers(
        reference: ReferenceAdapters, name: str, files: dict[str, bytes]
    ) -> dict[str, bytes]:
        return with_tensors(files, {key: tensor * 1e25 for key, tensor in reference.tensors(name).items()})

    @staticmethod
    def truncated(_reference: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return {**files, FILES[1]: files[FILES[1]][:-1000]}

    @staticmethod
    def header_of_no_end(_reference: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return {**files, FILES[1]: (1 << 62).to_bytes(8, "little") + files[FILES[1]][8:]}

    @staticmethod
    def a_pickle(_reference: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return {**files, FILES[1]: b"\x80\x04cos\nsystem\n(S'true'\ntR."}

    @staticmethod
    def of_a_wider_base(reference: ReferenceAdapters, name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return with_tensors(files, {key: tensor.repeat(2, 2) for key, tensor in reference.tensors(name).items()})

    @staticmethod
    def of_a_deeper_base(reference: ReferenceAdapters, name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        tensors = reference.tensors(name)
        return with_tensors(files, {key.replace("layers.0", "layers.90"): value for key, value in tensors.items()})

    @staticmethod
    def of_other_weights(_reference: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return {**files, "anneal.json": json.dumps({"base_model": "anneal-tiny", "base_sha256": "0" * 64}).encode()}

    @staticmethod
    def with_one_factor(reference: ReferenceAdapters, name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        tensors = reference.tensors(name)
        tensors.pop(next(iter(tensors)))
        return with_tensors(files, tensors)

    @staticmethod
    def with_other_tensors(reference: ReferenceAdapters, name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return with_tensors(files, {**reference.tensors(name), "lm_head.weight": torch.ones(2, 2)})

    @staticmethod
    def without_tensors(_reference: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return with_tensors(files, {})

    @staticmethod
    def of_integers(reference: ReferenceAdapters, name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return with_tensors(files, {key: tensor.to(torch.int8) for key, tensor in reference.tensors(name).items()})

    @staticmethod
    def with_a_config_of_another_rank(_r: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return change_config(files, r=16)

    @staticmethod
    def with_a_config_of_dora(_r: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return change_config(files, use_dora=True)

    @staticmethod
    def with_a_config_of_another_kind(_r: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return change_config(files, peft_type="IA3")

    @staticmethod
    def with_a_config_that_is_no_json(_r: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return {**files, FILES[0]: b"[" * 100_000}

    @staticmethod
    def without_a_config(_r: ReferenceAdapters, _name: str, files: dict[str, bytes]) -> dict[str, bytes]:
        return {FILES[1]: files[FILES[1]]}


def change_config(files: dict[str, bytes], **changes: Any) -> dict[str, bytes]:
    return {**files, FILES[0]: json.dumps({**json.loads(files[FILES[0]]), **changes}).encode()}


WAYS = [way for way in vars(Broken) if not way.startswith("_")]


@pytest.mark.parametrize("way", WAYS)
def test_refuses_a_broken_or_foreign_adapter_and_keeps_serving(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters, way: str
) -> None:
    good, files = reference.make(8)
    name = f"broken-{way}"
    status, answer = put(tiny, name, host.publish(name, getattr(Broken, way)(reference, good, files)))
    assert (status, answer["error"]["code"]) == (422, "adapter_refused"), answer
    assert name not in loaded(tiny) and not (tiny.adapter_folder / name).exists()
    assert tiny.client.texts(PROMPT, max_tokens=16) == [reference.generate(PROMPT)]
    assert put(tiny, good, host.publish(good, files))[0] == 200
    assert tiny.client.texts(PROMPT, model=good) == [reference.generate(PROMPT, good)]


def test_an_adapter_that_names_this_base_is_loaded(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    name, files = reference.make(10)
    origin = {"base_model": "anneal-tiny", "base_sha256": weights_sha256(tiny.engine.folder)}
    assert put(tiny, name, host.publish(name, {**files, "anneal.json": json.dumps(origin).encode()}))[0] == 200


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"size": 12}, {"size": 10**15}, {"size": 0}, {"size": -1}])
def test_files_that_differ_from_the_promise_are_refused(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters, change: dict[str, Any]
) -> None:
    _, files = reference.make(8)
    config, weights = host.publish("promise", files)
    status, answer = put(tiny, "promise", [config, {**weights, **change}])
    assert (status, answer["error"]["code"]) == (422, "adapter_refused")
    assert not list((tiny.adapter_folder / ".incoming").iterdir())


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "/etc/passwd", None])
def test_only_http_addresses_are_fetched(tiny: RunningServer, url: object) -> None:
    files = [{"name": name, "url": url, "size": 10, "sha256": "0" * 64} for name in FILES]
    assert put(tiny, "elsewhere", files)[0] == 422


def test_a_refused_address_is_not_blamed_on_the_adapter(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    name, files = reference.make(8)
    gone = [{**file, "url": file["url"] + ".gone"} for file in host.publish(name, files)]
    status, answer = put(tiny, "gone", gone)
    assert (status, answer["error"]["code"]) == (502, "adapter_unreachable")


@pytest.mark.parametrize("name", ["..", ".hidden", "a%2Fb", "x" * 129, "anneal-tiny", "a b", "ä"])
def test_names_stay_inside_the_folder(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters, name: str
) -> None:
    _, files = reference.make(8)
    quoted = name.replace(" ", "%20").replace("ä", "%C3%A4")
    assert put(tiny, quoted, host.publish("name", files))[0] in (404, 405, 422)


def test_vllms_routes_load_from_the_adapter_folder_only(
    tiny: RunningServer, reference: ReferenceAdapters, tmp_path: Path
) -> None:
    _, files = reference.make(11)
    for folder in (tiny.adapter_folder / "by-hand", tmp_path):
        folder.mkdir(exist_ok=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
    load = lambda name, path: tiny.client.post("/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(path)})  # noqa: E731
    assert load("outside", tmp_path)[0] == 404
    assert load("outside", tiny.adapter_folder / ".." / ".." / tmp_path.name)[0] == 404
    assert load("by-hand", tiny.adapter_folder / "by-hand")[0] == 200
    assert load("by-hand", tiny.adapter_folder / "by-hand")[0] == 400
    assert "by-hand" in loaded(tiny)
    assert tiny.client.post("/v1/unload_lora_adapter", {"lora_name": "by-hand"})[0] == 200
    assert tiny.client.post("/v1/unload_lora_adapter", {"lora_name": "by-hand"})[0] == 404


def test_the_least_recently_used_goes_first_of_those_that_nobody_uses(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters, tmp_path: Path
) -> None:
    small = open_to_clients(tiny.engine, tiny.metrics, tmp_path, max_loaded=2)
    made = [reference.make(20 + index) for index in range(4)]
    (first, _), (second, _), (third, _), (fourth, _) = made
    described = {name: host.publish(name, files) for name, files in made}
    assert put(small, first, described[first])[0] == put(small, second, described[second])[0] == 200
    small.client.texts(PROMPT, model=first)
    assert put(small, third, described[third])[0] == 200
    assert loaded(small)[1:] == [first, third]
    with small.adapters.use(first):
        assert put(small, fourth, described[fourth])[0] == 200
        assert set(loaded(small)[1:]) == {first, fourth}
    assert put(small, second, described[second])[0] == 200
    assert small.client.texts(PROMPT, model=second) == [reference.generate(PROMPT, second)]


def test_a_request_finishes_with_an_adapter_that_was_removed_meanwhile(
    tiny: RunningServer, host: FileHost, reference: ReferenceAdapters
) -> None:
    name, files = reference.make(30)
    assert put(tiny, name, host.publish(name, files))[0] == 200
    asked = prompts(60, seed=31)
    expected = tiny.client.texts(asked, model=name, max_tokens=16)
    answers: list[list[str]] = []
    running = threading.Thread(target=lambda: answers.append(tiny.client.texts(asked, model=name, max_tokens=16)))
    running.start()
    while not tiny.adapters._held[name].users:
        asyncio.run(asyncio.sleep(0.001))
    assert tiny.client.call("DELETE", f"/agent/v1/adapters/{name}")[0] == 200
    running.join()
    assert answers == [expected]
