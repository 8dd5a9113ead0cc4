"""A cluster's token that others may read is refused before the cluster is joined."""

from pathlib import Path

import pytest

from sweeps.execution.engine.process.ray_engine import RayEngine
from sweeps.execution.engine.process.ray_token import refuse_readable_token
from sweeps.records.errors import BadInput


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a token, for its owner's eyes alone."""
    path = tmp_path / "auth_token"
    path.write_text("secret")
    path.chmod(0o600)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
    return path


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_token_that_others_may_read_is_refused(token: Path, mode: int) -> None:
    token.chmod(mode)
    with pytest.raises(BadInput, match=rf"mode {mode:o}\), .*: chmod 600 ") as refused:
        refuse_readable_token()
    assert "secret" not in str(refused.value)


def test_that_is_so_before_a_cluster_is_joined(token: Path) -> None:
    token.chmod(0o644)
    log = token.with_name("log")
    with pytest.raises(BadInput, match="Others may read"), RayEngine("127.0.0.1:1", log):
        pass
    assert not log.exists()


def test_a_token_of_ones_own_and_none_are_left_to_ray(
    token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_readable_token()
    token.unlink()
    refuse_readable_token()
    token.write_text("secret")
    token.chmod(0o644)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "another")  # then the file is not read
    refuse_readable_token()
