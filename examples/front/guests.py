"""guests: the book of guests. It knows nothing of HTTP: requests arrive over the bus."""

from __future__ import annotations

from subtrie.connector import Connector, HTTPError, Request, Response

service = Connector("guests.example")
guests: list[str] = []


@service.endpoint("GET", "/guests")
async def listed() -> list[str]:
    """Return the guests in the order in which they came."""
    return guests


@service.endpoint("POST", "/guests")
async def arrive(name: str) -> dict[str, int]:
    """Write a guest into the book."""
    if not name:
        raise HTTPError("a guest has a name", status=400)
    guests.append(name)
    return {"number": len(guests)}


@service.endpoint("POST", "/login")
async def login(request: Request) -> Response:
    """Set a cookie, and show the page again."""
    response = Response(303, headers={"Location": "/"})
    response.headers["Set-Cookie"] = "seen=yes; Path=/; HttpOnly; SameSite=Lax"
    return response


@service.endpoint("GET", "/seen")
async def seen(request: Request) -> bool:
    """Return whether the browser has the cookie."""
    return "seen=yes" in request.headers.get("Cookie", "")


@service.endpoint("POST", "/picture")
async def picture(http_request_body: bytes) -> dict[str, int]:
    """Return the size of a picture, which may be larger than one message of the broker."""
    return {"bytes": len(http_request_body)}
