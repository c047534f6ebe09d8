//! Lua scripts as Redis is sent them.

use redis::{Cmd, cmd};

/// A script about one key, so that it runs wherever that key is. Its text goes along: a server that has just taken over knows
/// no script, and those that are down need not be told.
pub(super) fn script(text: &str, key: &str) -> Cmd {
    let mut eval = cmd("EVAL");
    eval.arg(text).arg(1).arg(key);
    eval
}
