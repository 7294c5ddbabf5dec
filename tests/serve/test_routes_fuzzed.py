"""schemathesis against the server's own description: whatever comes in, nothing breaks and answers keep their shape.

SANNE_FUZZ_CASES says how many requests to make; `make fuzz-serve` makes 2,000.
"""

import contextlib
import itertools
import os
from collections import Counter
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from running_server import RunningServer
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CASES = int(os.environ.get("SANNE_FUZZ_CASES", "200"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)


def test_no_request_breaks_the_server(server: RunningServer) -> None:
    schema = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())
    operations = [result.ok() for result in schema.get_all_operations()]
    known = {"path_parameters": {"node_id": "p7"}}  # by chance, ids that are there are hardly ever met
    strategies = [operation.as_strategy(mode) for operation in operations for mode in MODES]
    strategies += [operation.as_strategy(**known) for operation in operations if "{" in operation.path]
    statuses: Counter[int] = Counter()
    with requests.Session() as session:
        for number in itertools.count():
            strategy = strategies[number % len(strategies)]
            statuses += fuzz(strategy, server.url, session, CASES // len(strategies) + 1, number)
            if statuses.total() >= CASES:
                break
    print(f"{statuses.total()} requests: {dict(sorted(statuses.items()))}")
    assert max(statuses) < 500
    assert statuses[200] > CASES // 20  # some of it was understood
    assert server.client.get("/readyz").status_code == 200


def fuzz(strategy: Any, base_url: str, session: requests.Session, count: int, number: int) -> Counter[int]:
    statuses: Counter[int] = Counter()

    def one(case: Any) -> None:
        answer = case.call(base_url=base_url, session=session)
        statuses[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    options = settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with contextlib.suppress(Unsatisfiable):  # /healthz has no wrong input, for example
        seed(number)(options(given(case=strategy)(one)))()
    return statuses
