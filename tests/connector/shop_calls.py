"""Requests to the service ``shop.example``, and what they were answered."""

from __future__ import annotations

from subtrie.connector import HTTPError

HOST = "shop.example"
URL = f"https://{HOST}"


async def asked(web, method, path, **more):
    """Send a request; return the JSON of the response, or the error."""
    try:
        return (await web.request(method, URL + path, **more)).json()
    except HTTPError as error:
        return error


def refused(answer, *texts, status=400):
    """Whether an answer is an error with all texts."""
    told = isinstance(answer, HTTPError) and answer.status == status
    return told and all(text in answer.message for text in texts)
