"""The parts of addresses that the tests of encoding start from."""

REQUEST = {
    "plane": "microbus",
    "port": 443,
    "source": "by.com",
    "host": "example.com",
    "method": "GET",
    "path": "/path",
}
SUBSCRIPTION = {key: value for key, value in REQUEST.items() if key != "source"}
REPLY = {"plane": "microbus", "source": "by.com", "host": "example.com", "id": "id-1234"}
