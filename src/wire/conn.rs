//! Which operations a kind of connection knows, and how their names are told apart byte by byte.

/// Who speaks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conn {
    /// What a server reads from a client.
    Client,
    /// What a client reads from a server.
    ServerToClient,
    /// What servers of one cluster say to each other today.
    Route,
    /// What a server and its leaf node say to each other.
    Leaf,
    /// Routes as seed 004 prints them, before nats-server 2.0 (A63).
    RouteLegacy,
}

impl Conn {
    /// Parses the name users write.
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

    /// The name users write.
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

    /// Does every fault but a limit go by one word, as in the sources of its rules?
    #[must_use]
    pub const fn says_parse(self) -> bool {
        matches!(self, Self::ServerToClient | Self::RouteLegacy)
    }

    const fn kinds(self) -> u32 {
        let both = bit(Kind::Info) | bit(Kind::Ping) | bit(Kind::Pong) | bit(Kind::Ok);
        let both = both | bit(Kind::Err);
        let sent = both | bit(Kind::Connect) | bit(Kind::Pub);
        let server = sent | bit(Kind::Hpub) | bit(Kind::Hmsg) | bit(Kind::LsAdd);
        let server = server | bit(Kind::LsDel) | bit(Kind::Lmsg) | bit(Kind::AAdd);
        let server = server | bit(Kind::ADel) | (1 << ALIAS);
        match self {
            // A client has nothing to deliver; the broker notices behind the line of HMSG.
            Self::Client => {
                sent | bit(Kind::Hpub) | bit(Kind::Sub) | bit(Kind::Unsub) | bit(Kind::Hmsg)
            }
            Self::ServerToClient => both | bit(Kind::Msg) | bit(Kind::Hmsg),
            Self::Route => server | bit(Kind::RsAdd) | bit(Kind::RsDel) | bit(Kind::Rmsg),
            Self::Leaf => server,
            Self::RouteLegacy => sent | bit(Kind::Sub) | bit(Kind::Unsub) | bit(Kind::Msg),
        }
    }
}

const fn bit(kind: Kind) -> u32 {
    1 << kind as u32
}

/// An operation by its name.
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
    /// A line of a legacy route that names no operation of it (A63).
    Unknown,
}

/// In the order of `Kind`; the last is how the broker also reads `A-`.
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

/// Longest name.
const LONGEST: usize = 7;

/// `STEP[place][byte]`: the names that have this byte, in either case, at this place (S4-012).
static STEP: [[u32; 256]; LONGEST] = steps();
/// `ENDS[place]`: the names whose last byte is at this place. No name begins with another one.
const ENDS: [u32; LONGEST] = ends();

const fn steps() -> [[u32; 256]; LONGEST] {
    let mut table = [[0; 256]; LONGEST];
    let mut name = 0;
    while name < NAMES.len() {
        let mut place = 0;
        while place < NAMES[name].len() {
            let byte = NAMES[name][place];
            table[place][byte as usize] |= 1 << name;
            table[place][byte.to_ascii_lowercase() as usize] |= 1 << name;
            place += 1;
        }
        name += 1;
    }
    table
}

const fn ends() -> [u32; LONGEST] {
    let mut table = [0; LONGEST];
    let mut name = 0;
    while name < NAMES.len() {
        table[NAMES[name].len() - 1] |= 1 << name;
        name += 1;
    }
    table
}

/// The names that the bytes read so far may still become.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidates(u32);

impl Candidates {
    pub(super) const fn of(conn: Conn) -> Self {
        Self(conn.kinds())
    }

    /// Takes the byte at `place`: the name that is now complete, if any; an error when none is left.
    #[inline]
    pub(super) fn take(&mut self, place: usize, byte: u8) -> Result<Option<Kind>, ()> {
        let Some(step) = STEP.get(place) else {
            return Err(());
        };
        self.0 &= step[byte as usize];
        if self.0 == 0 {
            return Err(());
        }
        let complete = self.0 & ENDS[place];
        if complete == 0 {
            return Ok(None);
        }
        Ok(Some(KINDS[complete.trailing_zeros() as usize]))
    }
}

impl Kind {
    /// The name as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match NAMES.get(self as usize) {
            Some(name) if self != Self::Unknown => std::str::from_utf8(name).unwrap_or_default(),
            _ => "UNKNOWN",
        }
    }

    /// Does a payload follow the line? (S1-008, and what routes added)
    #[must_use]
    pub const fn has_payload(self) -> bool {
        matches!(
            self,
            Self::Pub | Self::Hpub | Self::Msg | Self::Hmsg | Self::Rmsg | Self::Lmsg
        )
    }

    /// Is the name the whole operation?
    pub(super) const fn is_bare(self) -> bool {
        matches!(self, Self::Ping | Self::Pong | Self::Ok)
    }

    /// Is the argument one JSON object?
    #[must_use]
    pub const fn has_json(self) -> bool {
        matches!(self, Self::Info | Self::Connect)
    }
}

/// Does a line that names no operation of a legacy route announce a payload all the same?
pub(super) fn announces_payload(word: &[u8]) -> bool {
    [&b"HPUB"[..], b"HMSG", b"RMSG", b"LMSG"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(word))
}
