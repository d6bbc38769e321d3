//! Names of ADR-6: every kind and level gives a report, and errors have a position in the name.

use subtrie::grammar::{Level, NameKind, check_name};

/// The levels of validation.
const LEVELS: [Level; 3] = [Level::GoClient, Level::Cli, Level::Adr6];

/// Validate any text as a name of every kind.
pub fn names(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for &kind in NameKind::ALL {
        for level in LEVELS {
            for windows in [false, true] {
                if let Err(broken) = check_name(text, kind, level, windows) {
                    assert!(broken.position <= text.len(), "{kind:?} {broken:?}");
                    assert!(
                        text.is_char_boundary(broken.position),
                        "{kind:?} {broken:?}"
                    );
                }
            }
        }
        let fine = |level, windows| check_name(text, kind, level, windows).is_ok();
        assert!(
            !fine(Level::Adr6, true) || fine(Level::Adr6, false),
            "{kind:?}: a name that is valid on Windows is valid elsewhere"
        );
    }
}
