"""What clients are told when something fails, and what only the log says."""

import pytest

from sanne.errors import StoreError
from sanne.serve.http.errors import refusal_of


def test_paths_of_the_store_go_to_the_log_and_not_to_clients(caplog: pytest.LogCaptureFixture) -> None:
    refusal = refusal_of(StoreError("/srv/graph.store: the store cannot be written (disk full)"))
    assert (refusal.status, refusal.code, refusal.retry_after) == (503, "store", 5)
    assert b"/srv" not in refusal.response().body
    assert "/srv/graph.store: the store cannot be written (disk full)" in caplog.text
