"""Check a proof that one set of rules is inside another, without the package.

All lengths beyond the longest rule behave the same, so lengths up to one token more are enough.
"""


def at(pattern, length):
    """The tokens of the pattern's subjects of this length, or None where it has none."""
    tokens = pattern.split(".")
    if tokens[-1] == ">" and length >= len(tokens):
        tokens = tokens[:-1] + ["*"] * (length - len(tokens) + 1)
    return tokens if len(tokens) == length and ">" not in tokens else None


def part(rules, length, size):
    """Return the pattern that all rules share, for a number of tokens and of queue tokens."""
    shared = ["*"] * (length + size)
    for rule in rules:
        pattern, _, group = rule.partition(" ")
        queue = ["*"] * size if not group else at(group, size)
        tokens = at(pattern, length)
        pairs = list(zip(shared, (tokens or []) + (queue or []), strict=False))
        if None in (tokens, queue) or any(a != b and "*" not in (a, b) for a, b in pairs):
            return None
        shared = [other if one == "*" else one for one, other in pairs]
    return shared


def holds(left, right, claims, most=float("inf")):
    """Check that the claims prove that left = (allow, deny) is inside right."""
    needs = {(rule,): {*right[0], *left[1]} for rule in left[0]}
    needs.update({(rule, deny): set(left[1]) for rule in left[0] for deny in right[1]})
    given = {tuple(claim[:-1]): claim[-1] for claims_of in claims for claim in claims_of}
    words = [rule.split(" ") for rules in (*left, *right) for rule in rules]
    longest = max([word[0].count(".") + 2 for word in words], default=1)
    groups = max([word[1].count(".") + 2 for word in words if len(word) > 1], default=0)
    lengths = range(1, int(min(longest, most)) + 1)
    cells = [(length, size) for length in lengths for size in range(groups + 1)]
    for rules, allowed in needs.items():
        within = given.pop(rules, [])
        for cell in cells:
            shared = part(rules, *cell)
            covers = [each for rule in within if (each := part([rule], *cell)) is not None]
            pairs = [list(zip(each, shared or each, strict=True)) for each in covers]
            if shared and not any(all(a in ("*", b) for a, b in pair) for pair in pairs):
                return False
        if not set(within) <= allowed:
            return False
    return not given  # and no claim about anything else
