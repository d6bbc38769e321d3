//! The name of a connection.

use super::prefix::Line;

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
