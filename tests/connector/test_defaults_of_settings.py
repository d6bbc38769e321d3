"""Variables of a connector that are not set have the defaults of ``docs/environment.md``."""

from __future__ import annotations

import re
from pathlib import Path

from subtrie.connector import _json, _lifecycle, _run, _settings

PAGE = Path(__file__).parents[2] / "docs" / "environment.md"


def stated(variable: str) -> list[str]:
    """Return what the page has as code in the parentheses after the last entry of a variable."""
    *_, found = re.findall(rf"^- `{variable}` \((.*?)\):", PAGE.read_text("utf-8"), re.M)
    return re.findall(r"`(.+?)`", found)


def test_variables_of_a_connector_have_the_defaults_of_the_page(monkeypatch, tmp_path):
    for name in ("PLANE", "NATS", "DEPLOYMENT", "SHORT_CIRCUIT", "LOCALITY"):
        monkeypatch.delenv(f"MICROBUS_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    deployments = [_settings.deployment(None)]
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert [_settings.plane(None)] == stated("MICROBUS_PLANE")
    assert [_settings.broker(None, short=False)] == stated("MICROBUS_NATS")
    assert _settings.broker(None, short=_settings.short_circuit(None)) == ""
    for url in ("nats://broker.example:4222", _settings.DEFAULT_URL):
        deployments.append(_settings.deployment(None, url))
    assert deployments == stated("MICROBUS_DEPLOYMENT")
    assert _settings.locality(None) == ""
    assert [_json._decoder(text) for text in ("", *stated("SUBTRIE_JSON"))] == [None, None]
    budgets = {
        "MICROBUS_STARTUP_TIME_BUDGET": {_lifecycle._STARTUP_LIMIT, _run._STARTUP_LIMIT},
        "MICROBUS_SHUTDOWN_TIME_BUDGET": {_lifecycle._SHUTDOWN_LIMIT},
    }
    for name, limits in budgets.items():
        assert [f"{limit:g}s" for limit in limits] == stated(name)
