"""Refusals in vLLM's shape: {"error": {"message", "type", "param", "code"}}."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

TYPES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    413: "RequestEntityTooLargeError",
    422: "UnprocessableEntityError",
    502: "BadGatewayError",
    503: "ServiceUnavailableError",
}


class ApiError(Exception):
    """Ends a request with this answer. `extra` joins the error object."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | int | None = None, **extra: Any
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code, self.extra = status, message, param, code, extra

    def response(self) -> JSONResponse:
        error = {
            "message": self.message,
            "type": TYPES.get(self.status, "InternalServerError"),
            "param": self.param,
            "code": self.status if self.code is None else self.code,
            **self.extra,
        }
        headers = {"Retry-After": "1"} if self.status == 503 else None
        return JSONResponse({"error": error}, self.status, headers=headers)


def unknown_model(name: object) -> ApiError:
    return ApiError(404, f"The model `{name}` does not exist.", param="model")
