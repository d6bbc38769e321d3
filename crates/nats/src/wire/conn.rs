//! The kinds of connection, the operations of each, and the table that recognises their names.
//!
//! Names are recognised byte by byte with bit sets: a set of candidate names is intersected with the
//! set of names that have the next byte at this position (Shift-And: Baeza-Yates and Gonnet 1992).

/// A kind of connection and direction.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::{Conn, Limits, Parser};
///
/// let mut parser = Parser::new(Conn::Leaf, Limits::default());
/// parser.feed(b"LS+ orders.>\r\n", |op, _| assert_eq!(op.conn, Conn::Leaf))?;
/// # Ok::<(), subtrie_nats::wire::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conn {
    /// From a client to a server.
    Client,
    /// From a server to a client.
    ServerToClient,
    /// Between servers of a cluster, as they speak today.
    Route,
    /// Between a server and its leaf node.
    Leaf,
    /// Between servers of a cluster before nats-server 2.0.
    RouteLegacy, // S4-001 to S4-107, A63
}

impl Conn {
    /// Return the connection of this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::Conn;
    ///
    /// assert_eq!(Conn::from_name("server_to_client"), Some(Conn::ServerToClient));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "client" => Self::Client,
            "server_to_client" => Self::ServerToClient,
            "route" => Self::Route,
            "leaf" => Self::Leaf,
            "route_legacy" => Self::RouteLegacy,
            _ => return None,
        })
    }

    /// Return the name of the connection.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(subtrie_nats::wire::Conn::RouteLegacy.name(), "route_legacy");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::ServerToClient => "server_to_client",
            Self::Route => "route",
            Self::Leaf => "leaf",
            Self::RouteLegacy => "route_legacy",
        }
    }

    /// Return whether the sources of its rules name every error that is not a limit `parse`.
    #[must_use]
    pub const fn reports_parse_only(self) -> bool {
        matches!(self, Self::ServerToClient | Self::RouteLegacy)
    }

    /// The operations of the connection, one bit each.
    const fn operations(self) -> u32 {
        const COMMON: u32 =
            bit(Kind::Info) | bit(Kind::Ping) | bit(Kind::Pong) | bit(Kind::Ok) | bit(Kind::Err);
        const TO_SERVER: u32 = COMMON | bit(Kind::Connect) | bit(Kind::Pub);
        const LEAF: u32 = TO_SERVER
            | bit(Kind::Hpub)
            | bit(Kind::Hmsg)
            | bit(Kind::LsAdd)
            | bit(Kind::LsDel)
            | bit(Kind::Lmsg)
            | bit(Kind::AAdd)
            | bit(Kind::ADel)
            | 1 << ALIAS;
        match self {
            // A client cannot deliver; the broker rejects HMSG only after its line.
            Self::Client => {
                TO_SERVER | bit(Kind::Hpub) | bit(Kind::Sub) | bit(Kind::Unsub) | bit(Kind::Hmsg)
            }
            Self::ServerToClient => COMMON | bit(Kind::Msg) | bit(Kind::Hmsg),
            Self::Route => LEAF | bit(Kind::RsAdd) | bit(Kind::RsDel) | bit(Kind::Rmsg),
            Self::Leaf => LEAF,
            Self::RouteLegacy => TO_SERVER | bit(Kind::Sub) | bit(Kind::Unsub) | bit(Kind::Msg),
        }
    }
}

const fn bit(kind: Kind) -> u32 {
    1 << kind as u32
}

/// The name of an operation.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::{Conn, Kind, Limits, Parser};
///
/// let mut parser = Parser::new(Conn::Client, Limits::default());
/// parser.feed(b"PING\r\n", |op, _| assert_eq!(op.kind, Kind::Ping))?;
/// # Ok::<(), subtrie_nats::wire::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Info,
    Connect,
    Pub,
    Hpub,
    Sub,
    Unsub,
    Msg,
    Hmsg,
    Ping,
    Pong,
    Ok,
    Err,
    RsAdd,
    RsDel,
    LsAdd,
    LsDel,
    Rmsg,
    Lmsg,
    AAdd,
    ADel,
    /// A line of a legacy route that begins with another word.
    Unknown, // A63
}

/// The names in the order of `Kind`; the last is another spelling of `A-` that the broker accepts.
const NAMES: [&[u8]; 21] = [
    b"INFO", b"CONNECT", b"PUB", b"HPUB", b"SUB", b"UNSUB", b"MSG", b"HMSG", b"PING", b"PONG",
    b"+OK", b"-ERR", b"RS+", b"RS-", b"LS+", b"LS-", b"RMSG", b"LMSG", b"A+", b"A-", b"Au",
];
const ALIAS: usize = 20;
const KINDS: [Kind; 21] = [
    Kind::Info,
    Kind::Connect,
    Kind::Pub,
    Kind::Hpub,
    Kind::Sub,
    Kind::Unsub,
    Kind::Msg,
    Kind::Hmsg,
    Kind::Ping,
    Kind::Pong,
    Kind::Ok,
    Kind::Err,
    Kind::RsAdd,
    Kind::RsDel,
    Kind::LsAdd,
    Kind::LsDel,
    Kind::Rmsg,
    Kind::Lmsg,
    Kind::AAdd,
    Kind::ADel,
    Kind::ADel,
];

/// Length of the longest name.
const MAX_NAME: usize = 7;

/// `NAMES_WITH_BYTE[position][byte]`: the names with this byte, in either case, at this position.
static NAMES_WITH_BYTE: [[u32; 256]; MAX_NAME] = names_with_byte(); // S4-012
/// `NAMES_ENDING[position]`: the names whose last byte is at this position. No name is a prefix of
/// another one.
const NAMES_ENDING: [u32; MAX_NAME] = names_ending();

const fn names_with_byte() -> [[u32; 256]; MAX_NAME] {
    let mut table = [[0; 256]; MAX_NAME];
    let mut name = 0;
    while name < NAMES.len() {
        let mut position = 0;
        while position < NAMES[name].len() {
            let byte = NAMES[name][position];
            table[position][byte as usize] |= 1 << name;
            table[position][byte.to_ascii_lowercase() as usize] |= 1 << name;
            position += 1;
        }
        name += 1;
    }
    table
}

const fn names_ending() -> [u32; MAX_NAME] {
    let mut table = [0; MAX_NAME];
    let mut name = 0;
    while name < NAMES.len() {
        table[NAMES[name].len() - 1] |= 1 << name;
        name += 1;
    }
    table
}

/// The names that begin with the bytes read so far, one bit each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidates(u32);

impl Candidates {
    pub(super) const fn of(conn: Conn) -> Self {
        Self(conn.operations())
    }

    /// Read the byte at `position`; return the name if it is now complete, an error if no name is left.
    #[inline]
    pub(super) fn advance(&mut self, position: usize, byte: u8) -> Result<Option<Kind>, ()> {
        let Some(names) = NAMES_WITH_BYTE.get(position) else {
            return Err(());
        };
        self.0 &= names[byte as usize];
        if self.0 == 0 {
            return Err(());
        }
        let complete = self.0 & NAMES_ENDING[position];
        if complete == 0 {
            return Ok(None);
        }
        Ok(Some(KINDS[complete.trailing_zeros() as usize]))
    }
}

impl Kind {
    /// Return the name as it is written.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(subtrie_nats::wire::Kind::RsAdd.name(), "RS+");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match NAMES.get(self as usize) {
            Some(name) if self != Self::Unknown => std::str::from_utf8(name).unwrap_or_default(),
            _ => "UNKNOWN",
        }
    }

    /// Return whether a payload follows the line.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::Kind;
    ///
    /// assert!(Kind::Pub.has_payload() && !Kind::Sub.has_payload());
    /// ```
    // S1-008, and what routes added
    #[must_use]
    pub const fn has_payload(self) -> bool {
        matches!(
            self,
            Self::Pub | Self::Hpub | Self::Msg | Self::Hmsg | Self::Rmsg | Self::Lmsg
        )
    }

    /// Whether the name is the whole operation.
    pub(super) const fn is_bare(self) -> bool {
        matches!(self, Self::Ping | Self::Pong | Self::Ok)
    }

    /// Return whether the argument is one JSON object.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(subtrie_nats::wire::Kind::Info.has_json());
    /// ```
    #[must_use]
    pub const fn has_json(self) -> bool {
        matches!(self, Self::Info | Self::Connect)
    }
}

/// Whether the first word of an unknown line of a legacy route announces a payload.
pub(super) fn announces_payload(word: &[u8]) -> bool {
    [&b"HPUB"[..], b"HMSG", b"RMSG", b"LMSG"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(word))
}
