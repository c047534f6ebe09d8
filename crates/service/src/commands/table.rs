//! Tables for a terminal.

use deskpass_core::is_invisible;
use unicode_width::UnicodeWidthStr as _;

/// Renders rows as lines with aligned cells, separated by two blanks.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let rows: Vec<_> = rows.iter().map(|row| row.each_ref().map(|cell| plain(cell))).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let filled = |(cell, width): (&String, usize)| format!("{cell}{}", " ".repeat(width - cell.width()));
    let line =
        |row: &[String; N]| row.iter().zip(widths).map(filled).collect::<Vec<_>>().join("  ").trim_end().to_owned();
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Removes characters that move a terminal's cursor, set colours or reverse the text direction: names come from other people.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|character| if is_invisible(character) { '\u{fffd}' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn chinese_names_do_not_push_their_row_aside() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let told = table(&[
            row(["NAME", "ROLE", "STATE"]),
            row(["张三丰", "user", "enabled"]),
            row(["O’Zoe\u{308}", "agent", "x"]),
        ]);
        assert_eq!(told, "NAME    ROLE   STATE\n张三丰  user   enabled\nO’Zoe\u{308}   agent  x");
    }

    #[test]
    fn a_name_does_not_move_the_cursor() {
        let message = table(&[["a\u{1b}[2Jb\nc".to_owned(), "d".to_owned()]]);
        assert_eq!(message, "a\u{fffd}[2Jb\u{fffd}c  d");
        assert_eq!(table(&[["a\u{202e}b".to_owned()]]), "a\u{fffd}b");
    }
}
