"""Where a cloud says a machine stands: the locality ``AWS`` or ``GCP`` means its zone.

The instance's metadata service is asked at every start, for two seconds at most; without an answer
a service does not start, since it would stand in the wrong place (S0-046). A zone becomes a
locality by parting its letter, or on GCP its number, from the region: ``us-east-1a`` and
``us-east1-a`` are both ``us-east-1-a``. The variables that move the service for other programs
move it here too: ``AWS_EC2_METADATA_SERVICE_ENDPOINT``, ``GCE_METADATA_HOST``.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
import urllib.error
import urllib.request

from .._errors import SubtrieError
from ..microbus import check_locality

CLOUDS = ("AWS", "GCP")
LIMIT = 2.0  # seconds for the whole look-up
_LONGEST = 256  # bytes of an answer

_AWS_ZONE = re.compile(r"([a-z0-9-]*[0-9])([a-z])")
_GCP_ZONE = re.compile(r"projects/[^/]+/zones/([a-z-]*[a-z])([0-9]+-[a-z0-9-]+)")


def cloud_of(locality: str) -> str:
    """The cloud to ask, where a locality names one in any case; else the empty text."""
    name = locality.upper() if locality.isascii() else ""
    return name if name in CLOUDS else ""


async def locality_in(cloud: str) -> str:
    """The locality of this machine in ``AWS`` or ``GCP``.

    Raises ``ConnectionError`` where the metadata service does not answer within two seconds, or
    with what is no zone.
    """
    look_up = _aws if cloud == "AWS" else _gcp
    ends = time.monotonic() + LIMIT
    try:
        async with asyncio.timeout(LIMIT):
            zone = await asyncio.to_thread(look_up, ends)
        return check_locality(zone)
    except (OSError, TimeoutError, SubtrieError, ValueError) as error:
        told = f"no zone from the metadata service of {cloud}: {error or 'no answer'}"
        raise ConnectionError(told) from error


def _aws(ends: float) -> str:
    base = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or "http://169.254.169.254"
    base = base.rstrip("/") + "/latest"
    headers = {}
    try:  # since 2019 a token comes first; where nobody gives any, it goes without
        wanted = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        headers["X-aws-ec2-metadata-token"] = _asked("PUT", f"{base}/api/token", wanted, ends)
    except urllib.error.HTTPError:
        headers = {}
    zone = _asked("GET", f"{base}/meta-data/placement/availability-zone", headers, ends)
    return _parted(_AWS_ZONE, zone)


def _gcp(ends: float) -> str:
    host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
    url = f"http://{host}/computeMetadata/v1/instance/zone"
    return _parted(_GCP_ZONE, _asked("GET", url, {"Metadata-Flavor": "Google"}, ends))


def _parted(zone: re.Pattern[str], text: str) -> str:
    found = zone.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:60]!a} is no zone")
    return f"{found[1]}-{found[2]}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None  # the metadata service answers itself


def _asked(method: str, url: str, headers: dict[str, str], ends: float) -> str:
    """One question, past any proxy: nobody else can answer it."""
    request = urllib.request.Request(url, method=method, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    left = max(ends - time.monotonic(), 0.001)
    with opener.open(request, timeout=left) as answer:
        text: bytes = answer.read(_LONGEST)
    return text.decode("ascii").strip()
