"""schemathesis against the server's own description: whatever comes in, nothing breaks and answers keep their shape.

SANNE_FUZZ_CASES says how many requests to make; `make fuzz-serve` makes 2,000.
"""

import itertools
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from running_server import RunningServer
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CASES = int(os.environ.get("SANNE_FUZZ_CASES", "300"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)


def test_no_request_breaks_the_server(model: Path, tmp_path: Path) -> None:
    with RunningServer(model, tmp_path / "store") as server, requests.Session() as session:
        schema = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())
        operations = [result.ok() for result in schema.get_all_operations()]
        known = {"path_parameters": {"node_id": "p7"}}  # by chance, ids that are there are hardly ever met
        variants: list[tuple[Any, Any, dict[str, Any]]] = [
            (operation, mode, fixed)
            for operation, mode in itertools.product(operations, MODES)
            for fixed in ([{}, known] if "{" in operation.path else [{}])
            if mode is MODES[0] or operation.body or operation.path_parameters or operation.query
        ]
        statuses: Counter[int] = Counter()
        for operation, mode, fixed in variants:
            statuses += fuzz(operation.as_strategy(mode, **fixed), server.url, session, CASES / len(variants))
        print(dict(statuses))
        assert statuses.total() >= CASES
        assert not [status for status in statuses if status >= 500]
        assert statuses[200] > CASES // 20  # some of it was understood
        assert server.client.get("/readyz").status_code == 200
        assert server.terminate() == 0


def fuzz(strategy: Any, base_url: str, session: requests.Session, count: float) -> Counter[int]:
    statuses: Counter[int] = Counter()

    def one(case: Any) -> None:
        answer = case.call(base_url=base_url, session=session)
        statuses[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    options = settings(
        max_examples=2 * math.ceil(count),  # hypothesis may run out of new ones
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(0)(options(given(case=strategy)(one)))()
    return statuses
