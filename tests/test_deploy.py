"""Files for containers agree with each other and with the server; `make image-check` runs the Dockerfile's steps."""

import fnmatch
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import image
from sanne.serve.limits import ServeLimits

ROOT = Path(__file__).parents[1]
STEPS = image.instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
LAST = dict(STEPS)  # of every instruction, the last
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
KUBERNETES: dict[str, Any] = {
    part["kind"]: part for part in yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8"))
}


def test_everything_that_is_copied_is_sent_to_the_engine() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    sent = [pattern.removeprefix("!") for pattern in ignored if pattern.startswith("!")]
    for name, rest in STEPS:
        if name == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert any(fnmatch.fnmatch(source, pattern) for pattern in sent), f"{source} is in .dockerignore"


def test_the_image_runs_as_nobody_in_particular_and_can_be_checked() -> None:
    user, _, group = LAST["USER"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert "/readyz" in LAST["HEALTHCHECK"]
    assert f":{LAST['EXPOSE']}/" in LAST["HEALTHCHECK"]
    context = KUBERNETES["Deployment"]["spec"]["template"]["spec"]["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"], context["fsGroup"]) == (True, int(user), int(group))


def test_compose_and_kubernetes_mount_what_the_image_reads_and_writes() -> None:
    service = COMPOSE["services"]["sanne"]
    volumes = dict(volume.split(":")[:2] for volume in service["volumes"])
    assert volumes["store"] == LAST["VOLUME"]
    assert f'"{volumes["./model"]}"' in LAST["CMD"]
    assert service["ports"] == [f"127.0.0.1:8080:{LAST['EXPOSE']}"]
    pod = KUBERNETES["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {LAST["VOLUME"], "/tmp"}
    assert container["ports"][0]["containerPort"] == int(LAST["EXPOSE"])
    assert (
        pod["volumes"][0]["persistentVolumeClaim"]["claimName"]
        == KUBERNETES["PersistentVolumeClaim"]["metadata"]["name"]
    )
    assert (
        KUBERNETES["Service"]["spec"]["selector"] == KUBERNETES["Deployment"]["spec"]["template"]["metadata"]["labels"]
    )
    assert container["env"][0]["name"] in service["environment"]
    for seconds in (pod["terminationGracePeriodSeconds"], int(service["stop_grace_period"].rstrip("s"))):
        assert seconds > ServeLimits().shutdown_seconds


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_probes_ask_for_what_needs_no_token(probe: str) -> None:
    (container,) = KUBERNETES["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container[probe]["httpGet"]["path"] in ("/healthz", "/readyz")


@pytest.mark.slow  # installs into an empty environment
def test_the_steps_of_the_dockerfile_work() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "image.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the image's steps work" in done.stdout
