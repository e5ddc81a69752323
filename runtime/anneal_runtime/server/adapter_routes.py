"""Routes that install an adapter by its files' URLs and remove it. Both may be called any number of times."""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from anneal_runtime.server import request_bodies
from anneal_runtime.server.adapter_download import refused
from anneal_runtime.server.serving import account_of, serving_of
from anneal_runtime.transfer import RemoteFile

MAX_FILES = 64
FILE_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
SHA256 = re.compile(r"[0-9a-f]{64}")


async def put_adapter(request: Request) -> Response:
    name = request.path_params["name"]
    body = await request_bodies.read_object(request)
    files = body.get("files")
    if not isinstance(files, list) or len(files) > MAX_FILES:
        raise refused(f"files must be a list of at most {MAX_FILES}.")
    await serving_of(request).adapters.install(name, [_file(raw) for raw in files], account_of(request))
    return JSONResponse({"name": name, "status": "loaded"})


async def delete_adapter(request: Request) -> Response:
    name = request.path_params["name"]
    await serving_of(request).adapters.remove(name)
    return JSONResponse({"name": name, "status": "removed"})


def _file(raw: Any) -> RemoteFile:
    if not isinstance(raw, dict):
        raise refused("Each file must be an object.")
    name, url, size, sha256 = (raw.get(key) for key in ("name", "url", "size", "sha256"))
    if not isinstance(name, str) or not FILE_NAME.fullmatch(name):
        raise refused("A file's name must be 1 to 100 letters, digits, dots, dashes or underscores.")
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        raise refused(f"The url of {name} must be an http address.")
    if type(size) is not int or not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
        raise refused(f"{name} needs its size and sha256.")
    return RemoteFile(url=url, size=size, sha256=sha256, name=name)
