//! The name of a connection, and who is behind it.

use super::prefix::{self, Line};
use super::redact::redact;
use super::text::escape;
use crate::microbus;

/// The digits of a process id, or `-`.
pub fn pid_name(pid: Option<&[u8]>) -> &str {
    pid.and_then(|pid| std::str::from_utf8(pid).ok())
        .unwrap_or("-")
}

/// The name of a connection: process id, kind and number, without leading zeros.
pub fn conn_name(found: &Line<'_>) -> Box<str> {
    let kind = match found.kind {
        b'c' => "client",
        b'w' => "websocket",
        b'm' => "mqtt",
        b'r' => "route",
        b'g' => "gateway",
        _ => "leaf",
    };
    let plain = |digits: &[u8]| {
        let text = std::str::from_utf8(digits)
            .unwrap_or_default()
            .trim_start_matches('0');
        if text.is_empty() {
            "0".to_owned()
        } else {
            text.to_owned()
        }
    };
    let pid = found.pid.map_or_else(|| "-".to_owned(), plain);
    format!("{pid}/{kind}:{}", plain(found.number)).into()
}

/// Account and identity of a connection. The identity is the user or the client's name, whichever
/// is the first that can be a Microbus host; if neither can, whichever is the first there is.
pub fn who(found: &Line<'_>) -> (Option<Box<str>>, Option<Box<str>>) {
    let (account, user) = found.login.map_or((None, None), prefix::account_and_user);
    let text = |bytes: Vec<u8>| Box::<str>::from(redact(&escape(&bytes)));
    let user = user.filter(|user| !user.is_empty()).map(text);
    let name = found.client.and_then(prefix::client_name).map(text);
    let is_host = |text: &str| microbus::check_identity_host(text).is_ok();
    let host = user.iter().chain(&name).find(|text| is_host(text)).cloned();
    (account.map(text), host.or(user).or(name))
}
