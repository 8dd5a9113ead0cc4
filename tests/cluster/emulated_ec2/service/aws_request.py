"""A request to AWS and the answer to it, in the forms of the protocols that clients speak."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import botocore.session

_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/aws4_request")
_REST_MODELS = {"elasticfilesystem": "efs"}  # name in a signature -> botocore's
_FORBIDDEN = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")


@dataclass(frozen=True)
class Request:
    """What a client asks of a service.

    Attributes:
        service: The service as IAM's policies name it.
        action: Name of the operation.
        region: The region that it is signed for.
        key: Id of the access key that has signed it.
        values: Its parameters; those of EC2 and IAM are flat, such as "Filter.1.Name".
    """

    service: str
    action: str
    region: str
    key: str
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The action as IAM's policies spell it."""
        return f"{self.service}:{self.action}"

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is to be done."""
        return self.values.get("DryRun") == "true"


@dataclass(frozen=True)
class Answer:
    """What a service answers.

    Attributes:
        status: Such as "200 OK".
        headers: Name and value of each.
        body: As it is sent.
    """

    status: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def is_error(self) -> bool:
        """Whether the request was refused."""
        return self.status >= "4"


def parsed_request(environment: Mapping[str, Any], body: bytes) -> Request | None:
    """Return the request that a WSGI environment holds, None where it has no signature."""
    signed = _CREDENTIAL.search(environment.get("HTTP_AUTHORIZATION", ""))
    if not signed:
        return None
    key, region, service = signed.groups()
    query = dict(parse_qsl(environment.get("QUERY_STRING", "")))
    if target := environment.get("HTTP_X_AMZ_TARGET"):
        action, values = target.rpartition(".")[2], json.loads(body)
    elif service in _REST_MODELS:
        more = json.loads(body) if body else {}
        action, parts = _rest_action(
            service, environment["REQUEST_METHOD"], environment["PATH_INFO"]
        )
        values = {**query, **parts, **more}
    else:
        values = query | dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
        action = values.get("Action", environment["PATH_INFO"])
    return Request(service, action, region, key, values)


def refusal(request: Request, code: str, message: str) -> Answer:
    """Return an error in the form in which the request's service gives it."""
    status = "403 Forbidden" if code in _FORBIDDEN else "400 Bad Request"
    error = f"<Type>Sender</Type><Code>{code}</Code><Message>{escape(message)}</Message>"
    error = f"<Error>{error}</Error>"
    if request.service == "ec2":
        body = f"<Response><Errors>{error}</Errors><RequestID>-</RequestID></Response>"
        return Answer(status, [("Content-Type", "text/xml")], body.encode())
    if request.service in ("iam", "sts"):
        body = f"<ErrorResponse>{error}<RequestId>-</RequestId></ErrorResponse>"
        return Answer(status, [("Content-Type", "text/xml")], body.encode())
    headers = [("Content-Type", "application/json"), ("x-amzn-ErrorType", code)]
    answer = {"__type": code, "ErrorCode": code, "message": message, "Message": message}
    return Answer(status, headers, json.dumps(answer).encode())


def _rest_action(service: str, method: str, path: str) -> tuple[str, dict[str, str]]:
    """Return the operation at a path of a REST service, and the parameters in the path."""
    for name, verb, matches in _rest_operations(service):
        if verb == method and (parts := matches(path)):
            return name, parts.groupdict()
    return f"{method} {path}", {}


@cache
def _rest_operations(
    service: str,
) -> list[tuple[str, str, Callable[[str], "re.Match[str] | None"]]]:
    model = botocore.session.get_session().get_service_model(_REST_MODELS[service])
    operations = []
    for name in model.operation_names:
        http = model.operation_model(name).http
        pattern = re.sub(r"\{(\w+)\+?\}", r"(?P<\1>[^/]+)", http["requestUri"].partition("?")[0])
        operations.append((name, http["method"], re.compile(f"{pattern}/?").fullmatch))
    return operations
