"""The locality of a cloud machine: ``AWS`` and ``GCP`` stand for the zone the machine runs in.

The instance metadata service is asked at each startup, for at most two seconds; without an answer
the service does not start, since it would announce a wrong locality. The letter of a zone, or on
GCP its number, is separated from the region: ``us-east-1a`` and ``us-east1-a`` both become
``us-east-1-a``. ``AWS_EC2_METADATA_SERVICE_ENDPOINT`` and ``GCE_METADATA_HOST`` override the
address of the metadata service, as in other programs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import urllib.error
import urllib.request

from .._core.engine import check_locality
from .._core.errors import SubtrieError
from . import _system

CLOUDS = ("AWS", "GCP")
LIMIT = 2.0  # seconds for the whole lookup
_LONGEST = 256  # bytes of a response

_AWS_ZONE = re.compile(r"([a-z0-9-]*[0-9])([a-z])")
_GCP_ZONE = re.compile(r"projects/[^/]+/zones/([a-z-]*[a-z])([0-9]+-[a-z0-9-]+)")


def cloud_of(locality: str) -> str:
    """Return the cloud that a locality names, in any case, else an empty text."""
    name = locality.upper() if locality.isascii() else ""
    return name if name in CLOUDS else ""


async def locality_in(cloud: str) -> str:
    """Return the locality of this machine in ``AWS`` or ``GCP``.

    Raises:
        ConnectionError: The metadata service does not answer within two seconds, or its answer is
            not a zone.
    """
    look_up = _aws if cloud == "AWS" else _gcp
    ends = _system.monotonic() + LIMIT
    try:
        async with asyncio.timeout(LIMIT):
            zone = await asyncio.to_thread(look_up, ends)
        return check_locality(zone)
    except (OSError, TimeoutError, SubtrieError, ValueError) as error:
        message = f"the metadata service of {cloud} gave no zone: {str(error) or 'no answer'}"
        raise ConnectionError(message) from error


def _aws(ends: float) -> str:
    base = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or "http://169.254.169.254"
    base = base.rstrip("/") + "/latest"
    headers = {}
    with contextlib.suppress(urllib.error.HTTPError):  # IMDSv2 wants a token; IMDSv1 has none
        token_headers = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        headers["X-aws-ec2-metadata-token"] = _get_metadata(
            "PUT", f"{base}/api/token", token_headers, ends
        )
    zone = _get_metadata("GET", f"{base}/meta-data/placement/availability-zone", headers, ends)
    return _zone_locality(_AWS_ZONE, zone)


def _gcp(ends: float) -> str:
    host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
    url = f"http://{host}/computeMetadata/v1/instance/zone"
    return _zone_locality(_GCP_ZONE, _get_metadata("GET", url, {"Metadata-Flavor": "Google"}, ends))


def _zone_locality(zone: re.Pattern[str], text: str) -> str:
    found = zone.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:60]!a} is not a zone")
    return f"{found[1]}-{found[2]}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None  # the metadata service does not redirect


def _get_metadata(method: str, url: str, headers: dict[str, str], ends: float) -> str:
    """Request a text from the metadata service, never through a proxy."""
    request = urllib.request.Request(url, method=method, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    left = max(ends - _system.monotonic(), 0.001)
    with opener.open(request, timeout=left) as response:
        text: bytes = response.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise ValueError(f"the answer has more than {_LONGEST} bytes")
    return text.decode("ascii").strip()
