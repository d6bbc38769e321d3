//! Every spelling of every operation on every connection, as nats-server reads it.

use subtrie_nats::ErrorKind;
use subtrie_nats::wire::{Conn, Kind, Limits, Parser};

const ALL: [&str; 5] = ["INFO", "PING", "PONG", "+OK", "-ERR"];
const OF_SERVERS: [&str; 9] = [
    "CONNECT", "PUB", "HPUB", "HMSG", "LS+", "LS-", "LMSG", "A+", "A-",
];

/// The operations of a connection beside those of all.
fn own(conn: Conn) -> Vec<&'static str> {
    match conn {
        Conn::Client => vec!["CONNECT", "PUB", "HPUB", "SUB", "UNSUB"],
        Conn::ServerToClient => vec!["MSG", "HMSG"],
        Conn::Route => [&OF_SERVERS[..], &["RS+", "RS-", "RMSG"]].concat(),
        Conn::Leaf => OF_SERVERS.to_vec(),
        Conn::RouteLegacy => vec!["CONNECT", "PUB", "SUB", "UNSUB", "MSG"],
    }
}

/// An operation with the arguments that the connection wants.
fn line(conn: Conn, name: &str, spelling: &str) -> String {
    let arguments = match (name, conn) {
        ("INFO" | "CONNECT", _) => " {}",
        ("LMSG", Conn::Route) => " o APP a 0 0",
        ("PUB" | "LMSG", _) => " a 0",
        ("HPUB", _) | ("HMSG", Conn::Leaf) => " a 0 0",
        ("HMSG", Conn::Route) => " APP a 0 0",
        ("HMSG", _) => " a 1 0 0",
        ("SUB", _) => " a 1",
        ("UNSUB", _) => " 1",
        ("MSG", _) => " a 1 0",
        ("-ERR", _) => " x",
        ("RS+" | "RS-", _) | ("LS-", Conn::Route) => " APP a",
        ("LS+", Conn::Route) => " o APP a",
        ("LS+" | "LS-", _) => " a",
        ("RMSG", _) => " APP a 0",
        ("A+" | "A-", _) => " APP",
        _ => "",
    };
    let payload = if name.ends_with("PUB") || name.ends_with("MSG") {
        "\r\n"
    } else {
        ""
    };
    format!("{spelling}{arguments}\r\n{payload}")
}

/// The name with each letter in each case; a server also reads `Au` as `A-`.
fn spellings(name: &str) -> Vec<String> {
    let mut found: Vec<String> = (0..1u32 << name.len())
        .map(|lower| {
            let of_place = |(place, char): (usize, char)| match lower >> place & 1 {
                1 => char.to_ascii_lowercase(),
                _ => char,
            };
            name.chars().enumerate().map(of_place).collect()
        })
        .collect();
    if name == "A-" {
        found.extend(["Au".to_string(), "au".to_string()]);
    }
    found
}

/// The names of the operations that are read, and whether an error ended them.
fn read(conn: Conn, stream: &str) -> (Vec<&'static str>, Option<&'static str>) {
    let mut parser = Parser::new(conn, Limits::default());
    let mut found = Vec::new();
    let outcome = parser.feed(stream.as_bytes(), |op, _| found.push(op.kind.name()));
    (found, outcome.err().map(|error| error.kind.code()))
}

const CONNECTIONS: [(Conn, &str); 5] = [
    (Conn::Client, "client"),
    (Conn::ServerToClient, "server_to_client"),
    (Conn::Route, "route"),
    (Conn::Leaf, "leaf"),
    (Conn::RouteLegacy, "route_legacy"),
];

#[test]
fn every_spelling_is_the_operation_of_its_connections_and_of_no_other() {
    let mut names: Vec<&str> = CONNECTIONS
        .iter()
        .flat_map(|(conn, _)| own(*conn))
        .collect();
    names.extend(ALL);
    for (conn, text) in CONNECTIONS {
        assert_eq!((Conn::from_name(text), conn.name()), (Some(conn), text));
        for &name in &names {
            let wanted = if ALL.contains(&name) || own(conn).contains(&name) {
                (vec![name], None)
            } else if conn == Conn::Client && name == "HMSG" {
                (vec![], Some("payload terminator")) // refused after its line
            } else if conn == Conn::RouteLegacy
                && (name.len() < 4 || !name.ends_with("MSG"))
                && name != "HPUB"
            {
                (vec!["UNKNOWN"], None) // of another version, and no payload follows
            } else {
                (vec![], Some("unknown op"))
            };
            for spelling in spellings(name) {
                let stream = line(conn, name, &spelling);
                assert_eq!(read(conn, &stream), wanted, "{text} {stream}");
            }
        }
        assert_eq!(
            read(conn, "AU APP\r\n").1.is_some(),
            conn != Conn::RouteLegacy
        );
    }
}

#[test]
fn which_operations_have_a_payload_or_options() {
    for (kind, name, has_payload, has_json) in [
        (Kind::Info, "INFO", false, true),
        (Kind::Connect, "CONNECT", false, true),
        (Kind::Pub, "PUB", true, false),
        (Kind::Hpub, "HPUB", true, false),
        (Kind::Sub, "SUB", false, false),
        (Kind::Unsub, "UNSUB", false, false),
        (Kind::Msg, "MSG", true, false),
        (Kind::Hmsg, "HMSG", true, false),
        (Kind::Ping, "PING", false, false),
        (Kind::Pong, "PONG", false, false),
        (Kind::Ok, "+OK", false, false),
        (Kind::Err, "-ERR", false, false),
        (Kind::RsAdd, "RS+", false, false),
        (Kind::RsDel, "RS-", false, false),
        (Kind::LsAdd, "LS+", false, false),
        (Kind::LsDel, "LS-", false, false),
        (Kind::Rmsg, "RMSG", true, false),
        (Kind::Lmsg, "LMSG", true, false),
        (Kind::AAdd, "A+", false, false),
        (Kind::ADel, "A-", false, false),
        (Kind::Unknown, "UNKNOWN", false, false),
    ] {
        let got = (kind.name(), kind.has_payload(), kind.has_json());
        assert_eq!(got, (name, has_payload, has_json));
    }
}

#[test]
fn sizes_have_at_most_nine_digits_unless_a_server_sends_them() {
    let unlimited = Limits {
        max_payload: usize::MAX,
        ..Limits::default()
    };
    for (size, by_client, by_server) in [
        ("999999999", None, None),
        ("1000000000", Some("bad size"), Some("bad size")),
        ("0000000001", Some("bad size"), None),
        ("", Some("arg count"), Some("arg count")),
        ("-1", Some("bad size"), Some("bad size")),
    ] {
        for (conn, line, wanted) in [
            (Conn::Client, format!("PUB a {size}\r\n"), by_client),
            (
                Conn::ServerToClient,
                format!("MSG a 1 {size}\r\n"),
                by_server,
            ),
        ] {
            let mut parser = Parser::new(conn, unlimited);
            let fault = parser.feed(line.as_bytes(), |_, _| ()).err();
            assert_eq!(fault.map(|error| error.kind.code()), wanted, "{line}");
        }
    }
    let mut parser = Parser::new(Conn::Client, Limits::default());
    assert!(parser.feed(b"PUB a 1048576\r\n", |_, _| ()).is_ok());
    let mut parser = Parser::new(Conn::Client, Limits::default());
    let fault = parser.feed(b"PUB a 1048577\r\n", |_, _| ()).unwrap_err();
    assert_eq!(fault.kind.code(), "max payload");
}

#[test]
fn errors_are_reported_as_parse_by_the_sources_that_say_so() {
    let parse_only: Vec<&str> = CONNECTIONS
        .iter()
        .filter_map(|(conn, name)| conn.reports_parse_only().then_some(*name))
        .collect();
    assert_eq!(parse_only, ["server_to_client", "route_legacy"]);
}

#[test]
fn the_number_of_a_connection_in_an_id_has_at_most_18_digits() {
    use subtrie_nats::wire::Rsid;

    let id = |digits: usize| format!("RSID:{}:1", "9".repeat(digits));
    assert_eq!(
        Rsid::parse(id(18).as_bytes()).map(|id| id.cid),
        Some(999_999_999_999_999_999)
    );
    assert_eq!(Rsid::parse(id(19).as_bytes()), None);
}

#[test]
fn the_stage_of_an_error() {
    for (stream, stage) in [
        ("XX", "name"),
        ("PUB a x\r\n", "arguments"),
        ("PUB a 1\r\nxyz", "payload"),
    ] {
        let mut parser = Parser::new(Conn::Client, Limits::default());
        let fault = parser.feed(stream.as_bytes(), |_, _| ()).unwrap_err();
        assert_eq!(fault.stage.name(), stage);
    }
}

#[test]
fn the_codes_of_errors() {
    let codes: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
    let wanted = [
        "unknown op",
        "no delimiter",
        "arg count",
        "bad size",
        "bad header size",
        "bad sid",
        "header larger than total",
        "bad reply indicator",
        "payload terminator",
        "bad json",
        "max control line",
        "max payload",
        "line end",
        "bad subject",
        "too-much-work",
    ];
    assert_eq!(codes, wanted);
}
