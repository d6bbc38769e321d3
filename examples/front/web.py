"""web: the page, and the ingress: ``uvicorn web:app``."""

from __future__ import annotations

import os
from pathlib import Path

from subtrie.connector import Connector, ingress

service = Connector("web.example")
service.static("//root/{name...}", Path(__file__).parent / "public")
service.static("/public/{name...}", Path(__file__).parent / "public")

app = ingress(service, origins=os.environ.get("ORIGINS", "").split())
