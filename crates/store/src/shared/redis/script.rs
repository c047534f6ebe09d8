//! Lua scripts for Redis.

use redis::{Cmd, cmd};

/// Creates the command for a script with one key, so that it runs on the server of that key. It sends the whole text,
/// because a server that has just become master knows no scripts.
pub(super) fn script(text: &str, key: &str) -> Cmd {
    let mut eval = cmd("EVAL");
    eval.arg(text).arg(1).arg(key);
    eval
}
