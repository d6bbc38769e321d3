"""``Deployment``: accounts and users of one broker or many, and which messages reach whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from .._core import engine
from ._account import Account
from ._delivery import Courses, Delivery, delivery
from ._flows import Flow, Unused, Users, flows, unused
from ._link import Link
from ._load.deployments import load_deployment
from ._load.loaded import LoadedDeployment
from ._permissions import Permissions


class Deployment:
    """The accounts and users of a deployment of nats-server.

    Attributes:
        accounts: the accounts by name, ``$G`` among them.
        users: the permissions of each user by ``user`` or ``account/user``.
        subscriptions: what each user of a running broker has subscribed to: pattern and queue.
        system_account: the name of the system account; None without one.
        no_auth_user: the user of connections without credentials; None without one.
        cluster: the name of the broker's cluster, empty without one; None if it is not known.
        links: leaf nodes, gateways and routes.
        admission: what a connection needs besides the credentials of a user.
        ignored: what the inputs hold and the broker ignores, a line each.
        unverified: signatures of activation tokens that were not verified, because the extra
            ``creds`` is not installed, a line each.
        unseen: the accounts that the inputs do not hold, so that what they export and import is not
            known, a line each. Users that they do not hold are one of ``users``, undetermined.
    """

    def __init__(self, loaded: LoadedDeployment) -> None:
        self.accounts = loaded.accounts
        self.users = {name: Permissions._of(each) for name, each in loaded.users.items()}
        self.subscriptions = loaded.subscriptions
        self.system_account, self.no_auth_user = loaded.system, loaded.no_auth_user
        self.cluster = loaded.cluster
        self.links = [
            Link(
                each.kind,
                each.name,
                each.account,
                Permissions._of(each.permissions),
                each.line,
                each.file,
            )
            for each in loaded.links
        ]
        self.ignored, self.unverified = loaded.ignored, loaded.unverified
        self.unseen = loaded.unseen
        self.admission = loaded.admission
        self._account_of = loaded.account_of

    @classmethod
    def load(
        cls,
        source: str | Path,
        *more: str | Path,
        env: Mapping[str, str] | None = None,
        root: str | Path | None = None,
        allow_readable: bool = False,
    ) -> Deployment:
        """Read a deployment from one or several inputs, which add up.

        An input is a server configuration, the JWT of an account or user, a creds file, a folder
        of JWTs as nsc keeps them, saved answers of ``/accountz?acc=NAME`` and
        ``/connz?auth=1&subs=detail``, or the address of a broker's monitoring port
        (``http://127.0.0.1:8222``).

        Args:
            source: the input.
            more: further inputs.
            env: values of a configuration's variables; default: the process's environment.
            root: the folder that must contain included files; default: that of the configuration.
            allow_readable: accept a creds file that the group or others may read.

        Raises:
            PermissionsError: what nats-server would refuse, with ``.file`` and ``.line``.
            OSError: a file cannot be read, or a broker does not answer.
            ImportError: users and accounts of JWTs need the package ``PyNaCl`` (extra ``creds``).
        """
        sources: Iterable[str | Path] = (source, *more)
        return cls(load_deployment(sources, env=env, root=root, allow_readable=allow_readable))

    def account_of(self, user: str) -> Account:
        """Return the account of a user. Raises ``KeyError`` if there is no such user."""
        return self.accounts[self._account_of[user]]

    def delivery(
        self,
        publisher: str,
        subject: str,
        receiver: str,
        subscription: str,
        *,
        queue: str | None = None,
    ) -> Delivery:
        """Decide what arrives at a subscription if a user publishes a subject.

        Args:
            publisher: the user that publishes.
            subject: the subject.
            receiver: the user that has subscribed.
            subscription: the pattern of the subscription.
            queue: its queue group, in which it is the only member; None without one.

        Raises:
            KeyError: no such user.
            SubjectError: not a valid subject.
            PatternError: not a valid pattern.
        """
        engine.check_subject(subject, "server")
        return delivery(
            Courses(self.accounts, self.cluster),
            self.account_of(publisher),
            subject,
            self.account_of(receiver),
            self.users[publisher],
            self.users[receiver],
            subscription,
            queue,
        )

    def flows(self) -> list[Flow]:
        """Return each import with the users at both ends and an example on each side."""
        return flows(self.accounts, Users(self.users, self._account_of), self.cluster)

    def unused(self) -> list[Unused]:
        """Return exports and imports that deserve a look: account, line, code and message."""
        return unused(self.accounts, self.flows())

    def subscribed(self, account: str, pattern: str) -> tuple[str, ...]:
        """Return the users of an account that now subscribe to some subject of a pattern.

        Known of a running broker, or of a saved answer of ``/connz``, only.
        """
        return tuple(
            name
            for name, each in self.subscriptions.items()
            if self._account_of[name] == account
            and any(engine.overlaps(pattern, found) for found, _ in each)
        )
