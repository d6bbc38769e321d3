"""The native engine. The reference (`subtrie.reference`) has the same names and signatures."""

def check_subject(
    text: str,
    dialect: str = "strict",
    max_tokens: int | None = None,
    max_length: int | None = None,
) -> None: ...
def check_pattern(
    text: str,
    dialect: str = "strict",
    max_tokens: int | None = None,
    max_length: int | None = None,
) -> None: ...
def matches(pattern: str, subject: str) -> bool: ...
def covers(pattern: str, other: str) -> bool: ...
def overlaps(pattern: str, other: str) -> str | None: ...
