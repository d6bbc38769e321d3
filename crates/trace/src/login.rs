//! The identity of a connection: what the broker proved of it, before what its client claims.
//!
//! The server prints the first of the nkey, the user and the JWT of CONNECT before each line of a
//! connection. Beside a JWT the other two are claims that the server does not check. So CONNECT itself is read:
//! its JWT is what the server accepted if the account of the connection is the one that issued it.
// A82

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::event::{Event, Prefix, Sink};
use super::json_texts::{base64_url, texts};
use super::prefix::{self, Line, User};
use super::reader::Reader;
use super::redact::redact;
use super::text::escape;
use subtrie::microbus;

/// The identity of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// The account.
    pub account: Option<Box<str>>,
    /// The name in the JWT, the nkey or the user, as the broker proved it; else the client's name,
    /// also beside a user that cannot be the host of a service.
    pub identity: Option<Box<str>>,
    /// The user as the broker knows it: the subject of the JWT, the nkey or the user.
    pub user: Option<Box<str>>,
    /// The name that the client gave itself.
    pub client: Option<Box<str>>,
    /// The proof that the identity rests on: `jwt`, `nkey`, `user`, `token`, `claimed`.
    pub source: Option<&'static str>,
}

/// The options of a CONNECT that say who its client is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// The name of the JWT, or its subject.
    pub name: Option<String>,
    /// The subject of the JWT: the public key of the user.
    pub subject: Option<String>,
    /// The issuer of the JWT, and the account for which it signs.
    pub issuers: [Option<String>; 2],
    pub nkey: Option<String>,
    pub user: Option<String>,
    /// Whether it was told that the client claims another user.
    pub told: bool,
}

/// The logins of the connections that are open.
#[derive(Debug, Default)]
pub struct Logins {
    pub by_conn: HashMap<u32, Login, RandomState>,
}

impl Logins {
    /// Read the options of CONNECT. Those of a second one replace those of the first one, as in the
    /// server; return whether it is a second one.
    pub fn connect(&mut self, conn: u32, options: &[u8]) -> bool {
        let [jwt, nkey, user] = texts(options, ["jwt", "nkey", "user"]);
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (jwt, nkey, user) = (filled(jwt), filled(nkey), filled(user));
        if jwt.is_none() && nkey.is_none() && user.is_none() {
            return false;
        }
        let again = self.by_conn.contains_key(&conn);
        let login = self.by_conn.entry(conn).or_default();
        login.told = false;
        if let Some(claims) = jwt.as_deref().and_then(claims) {
            let [name, subject, issuer, account] =
                texts(&claims, ["name", "sub", "iss", "nats.issuer_account"]).map(filled);
            login.name = name.or_else(|| subject.clone());
            login.subject = subject;
            login.issuers = [issuer, account];
        }
        login.nkey = nkey.or(login.nkey.take());
        login.user = user.or(login.user.take());
        again
    }

    /// Forget a connection that was closed.
    pub fn close(&mut self, conn: u32) {
        self.by_conn.remove(&conn);
    }

    /// Return who is behind a connection, by the prefix of a line.
    pub fn who(&self, conn: u32, found: &Line<'_>) -> Who {
        let (account, user) = found.login.map_or((None, None), prefix::account_and_user);
        let shown = |bytes: &[u8]| Box::<str>::from(redact(&escape(bytes)));
        let account = account.as_deref().map(shown);
        let client = found.client.and_then(prefix::client_name);
        let client = client.as_deref().map(shown);
        let login = self.by_conn.get(&conn);
        if let Some(login) = login.filter(|login| login.is_of(account.as_deref()))
            && let Some(name) = &login.name
        {
            let identity = Some(shown(name.as_bytes()));
            let subject = login.subject.as_deref().map(|text| shown(text.as_bytes()));
            let user = subject.or_else(|| identity.clone());
            return Who {
                account,
                identity,
                user,
                client,
                source: Some("jwt"),
            };
        }
        let (proven, source) = match user {
            Some(User::Jwt(text)) => (Some(text), Some("jwt")),
            Some(User::Nkey(text)) => (Some(text), Some("nkey")),
            Some(User::Name(text)) => (Some(text), Some("user")),
            Some(User::Token) => (None, Some("token")),
            None => (None, None),
        };
        let user = proven
            .filter(|text| !text.is_empty())
            .map(|text| shown(&text));
        // A user that is not the host of a service may be that of many: the client's name says which.
        let is_host = |text: &Option<Box<str>>| {
            text.as_deref()
                .is_some_and(|text| microbus::check_identity_host(text).is_ok())
        };
        let shared = source == Some("user") && !is_host(&user) && is_host(&client);
        let claimed = client.is_some() && (user.is_none() || shared);
        let (identity, source) = if claimed {
            (client.clone(), Some("claimed"))
        } else {
            let known = user.is_some() || source == Some("token");
            (user.clone(), source.filter(|_| known))
        };
        Who {
            account,
            identity,
            user,
            client,
            source,
        }
    }

    /// Return once for each CONNECT that the client claims another user than the broker proved.
    pub fn claim(&mut self, conn: u32, who: &Who) -> Option<Box<str>> {
        let login = self.by_conn.get_mut(&conn)?;
        if login.told || who.user.is_none() {
            return None;
        }
        login.told = true;
        let proven = [who.identity.as_deref(), who.user.as_deref()];
        let claimed = [&login.user, &login.nkey, &login.name];
        let mut texts = claimed.into_iter().flatten();
        let other = texts.find(|text| !proven.contains(&Some(&*redact(text))))?;
        Some(redact(other).into())
    }
}

impl Login {
    /// Whether the account of the connection issued its JWT.
    fn is_of(&self, account: Option<&str>) -> bool {
        account.is_some_and(|account| self.issuers.iter().flatten().any(|each| each == account))
    }
}

impl Reader {
    /// Add a row if the client claims another user than the broker proved.
    pub(super) fn claim(
        &mut self,
        position: u64,
        time: Option<i64>,
        prefix: &Prefix,
        sink: &mut impl Sink,
    ) {
        let Some(claimed) = self.logins.claim(prefix.conn_id, &prefix.who) else {
            return;
        };
        if self.range.contains(&position) {
            sink.add(&Event {
                position,
                time,
                prefix: Some(prefix),
                op: b"CLAIM",
                subject: claimed.as_bytes(),
                ..Event::default()
            });
        }
    }

    /// Read the options of CONNECT: the prefix of later lines depends on them.
    pub(super) fn connect(&mut self, conn: u32, body: &[u8]) {
        if let Some(options) = body
            .strip_prefix(b"[CONNECT ")
            .and_then(|rest| rest.strip_suffix(b"]"))
        {
            let again = self.logins.connect(conn, options);
            if again {
                self.prefixes.clear(); // one of them may be that of this connection
            }
        }
    }
}

/// Return the claims of a JWT as JSON. The server has checked its signature, if it accepted it.
fn claims(token: &str) -> Option<Vec<u8>> {
    let mut parts = token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    parts
        .next()
        .is_none()
        .then(|| base64_url(claims.as_bytes()))?
}
