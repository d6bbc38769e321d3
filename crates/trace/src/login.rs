//! The identity of a connection: what the broker proved of it, before what its client claims.
//!
//! The server prints the first of the nkey, the user and the JWT of CONNECT before each line of a
//! connection. Beside a JWT the other two are claims that the server does not check. So CONNECT itself is read:
//! its JWT is what the server accepted if the account of the connection is the one that issued it.
// A82

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::connections::{CONNECTIONS, oldest};
use super::event::Who;
use super::json_texts::{base64_url, texts};
use super::prefix::{self, Line, User};
use super::redact::redact;
use super::text::escape;
use subtrie::microbus;

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
    /// The name that the client gives itself.
    pub client: Option<String>,
    /// Whether it was told that the client claims another user.
    pub told: bool,
    /// The position of its first CONNECT.
    pub since: u64,
}

/// The logins of the connections that are open. Of more than `CONNECTIONS` the oldest are forgotten:
/// the identity on their lines is then what the server prints before each line.
#[derive(Debug, Default)]
pub struct Logins {
    by_conn: HashMap<u32, Login, RandomState>,
    /// The number of those of which it may be told that the client claims another user.
    untold: usize,
}

impl Logins {
    /// Read the options of CONNECT. Those of a second one replace those of the first one, as in the
    /// server; return whether it is a second one.
    pub fn connect(&mut self, conn: u32, options: &[u8], since: u64) -> bool {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let [jwt, nkey, user, client] = texts(options, ["jwt", "nkey", "user", "name"]).map(filled);
        let known = self.by_conn.get(&conn);
        let again = known.is_some();
        self.untold += usize::from(known.is_none_or(|login| login.told));
        if !again && self.by_conn.len() >= CONNECTIONS {
            let logins = self.by_conn.iter();
            let all = logins.map(|(&conn, login)| (login.since, conn)).collect();
            oldest(all).for_each(|conn| self.close(conn));
        }
        let login = self.by_conn.entry(conn).or_insert_with(|| Login {
            since,
            ..Login::default()
        });
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
        login.client = client.or(login.client.take());
        again
    }

    /// Forget a connection that was closed.
    pub fn close(&mut self, conn: u32) {
        let closed = self.by_conn.remove(&conn);
        self.untold -= usize::from(closed.is_some_and(|login| !login.told));
    }

    /// Add the login of a saved state.
    pub fn insert(&mut self, conn: u32, login: Login) {
        self.untold += usize::from(!login.told);
        self.by_conn.insert(conn, login);
    }

    /// Iterate over connections and their logins, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Login)> {
        self.by_conn.iter().map(|(&conn, login)| (conn, login))
    }

    /// Whether the next line of a connection may show that its client claims another user.
    pub const fn is_untold(&self) -> bool {
        self.untold > 0
    }

    /// Return who is behind a connection, by the prefix of a line.
    pub fn who(&self, conn: u32, found: &Line<'_>) -> Who {
        let (account, user) = found.login.map_or((None, None), prefix::account_and_user);
        let shown = |bytes: &[u8]| Box::<str>::from(redact(&escape(bytes)));
        let account = account.as_deref().map(shown);
        let login = self.by_conn.get(&conn);
        // What is printed has no place for the name of a client that says no language.
        let client = found.client.and_then(|text| {
            let told = || Some(login?.client.as_ref()?.clone().into_bytes());
            prefix::client_name(text).or_else(told)
        });
        let client = client.as_deref().map(shown);
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
        if found.kind == b'l'
            && user.is_none()
            && let Some(who) = login.and_then(Login::of_leaf)
        {
            return who;
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

    /// Return once for each CONNECT that the broker accepted its user.
    pub fn login(&mut self, conn: u32, who: &Who) -> Option<Accepted> {
        let login = self.by_conn.get_mut(&conn)?;
        if login.told {
            return None;
        }
        login.told = true;
        self.untold -= 1;
        let proven = [who.identity.as_deref(), who.user.as_deref()];
        let claimed = [&login.user, &login.nkey, &login.name];
        let mut texts = claimed.into_iter().flatten();
        let other = texts.find(|text| !proven.contains(&Some(&*redact(text))));
        let other = other.filter(|_| who.user.is_some());
        let claimed = other.map(|text| redact(text).into());
        Some(Accepted { claimed })
    }
}

/// A login that the broker accepted.
pub struct Accepted {
    /// Another user than the proven one that the client names.
    pub claimed: Option<Box<str>>,
}

impl Login {
    /// Return who a leaf node is: its lines name no user, and what its CONNECT names is accepted,
    /// else the server closes the connection.
    fn of_leaf(&self) -> Option<Who> {
        let known = [
            (&self.name, "jwt"),
            (&self.nkey, "nkey"),
            (&self.user, "user"),
        ];
        let (name, source) = known
            .into_iter()
            .find_map(|(text, source)| Some((text.as_deref()?, source)))?;
        let user = self.subject.as_deref().unwrap_or(name);
        Some(Who {
            identity: Some(redact(name).into()),
            user: Some(redact(user).into()),
            source: Some(source),
            ..Who::default()
        })
    }

    /// Whether the account of the connection issued its JWT.
    fn is_of(&self, account: Option<&str>) -> bool {
        account.is_some_and(|account| self.issuers.iter().flatten().any(|each| each == account))
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
