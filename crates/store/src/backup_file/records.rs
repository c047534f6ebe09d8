//! The records of a backup: tables and their rows, as lines of JSON.

use std::io::{BufRead as _, BufReader, Read, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::chunk_cipher::ChunkCipher;
use super::chunks::{ChunkReader, ChunkWriter};
use super::{BackupFileError, BackupHeader, BackupPassword};
use crate::database::SqlValue;

/// The limit of a line, far above that of any row: no text that the service stores has more than some kilobytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// A line of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A table begins.
    Table { name: String, columns: Vec<String> },
    /// A row of the table, with its values in the order of the columns.
    Row(Vec<SqlValue<'static>>),
    /// The table ends.
    TableEnd { rows: u64 },
    /// The backup ends.
    End { tables: usize, rows: u64 },
}

/// A line that is not a row. A row is an array, all others are objects.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Mark {
    Table { name: String, columns: Vec<String> },
    TableEnd { rows: u64 },
    End { tables: usize, rows: u64 },
}

/// Writes a backup.
pub(crate) struct BackupWriter<W: Write> {
    out: GzEncoder<ChunkWriter<W>>,
    /// The tables that were written, with their numbers of rows.
    tables: Vec<(String, u64)>,
}

/// A backup that was written.
pub(crate) struct Written<W> {
    pub(crate) out: W,
    pub(crate) tables: Vec<(String, u64)>,
    pub(crate) bytes: u64,
}

impl<W: Write> BackupWriter<W> {
    pub(crate) fn begin(
        out: W,
        header: &BackupHeader,
        password: Option<&BackupPassword>,
    ) -> Result<Self, BackupFileError> {
        let text = header.to_text()?;
        let out = ChunkWriter::begin(out, &text, cipher(header, &text, password)?)?;
        Ok(Self { out: GzEncoder::new(out, Compression::fast()), tables: Vec::new() })
    }

    pub(crate) fn begin_table(&mut self, name: &str, columns: Vec<String>) -> Result<(), BackupFileError> {
        self.tables.push((name.to_owned(), 0));
        self.write(&Mark::Table { name: name.to_owned(), columns })
    }

    pub(crate) fn write_rows(&mut self, rows: &[Vec<SqlValue<'_>>]) -> Result<(), BackupFileError> {
        let mut lines = Vec::new();
        for row in rows {
            let start = lines.len();
            serde_json::to_writer(&mut lines, row)?;
            lines.push(b'\n');
            if lines.len() - start > MAX_LINE_BYTES {
                // Now, since it could not be restored.
                return Err(BackupFileError::LongRow(
                    self.tables.last().map(|(name, _)| name.clone()).unwrap_or_default(),
                ));
            }
        }
        if let Some((_, count)) = self.tables.last_mut() {
            *count += u64::try_from(rows.len()).unwrap_or(0);
        }
        Ok(self.out.write_all(&lines)?)
    }

    pub(crate) fn end_table(&mut self) -> Result<(), BackupFileError> {
        let rows = self.tables.last().map_or(0, |(_, rows)| *rows);
        self.write(&Mark::TableEnd { rows })
    }

    pub(crate) fn finish(mut self) -> Result<Written<W>, BackupFileError> {
        let rows = self.tables.iter().map(|(_, rows)| rows).sum();
        self.write(&Mark::End { tables: self.tables.len(), rows })?;
        let (out, bytes) = self.out.finish()?.finish()?;
        Ok(Written { out, tables: self.tables, bytes })
    }

    fn write(&mut self, mark: &Mark) -> Result<(), BackupFileError> {
        let mut line = serde_json::to_vec(mark)?;
        line.push(b'\n');
        Ok(self.out.write_all(&line)?)
    }
}

/// Reads a backup. What it returns is known to be genuine only after [`Record::End`].
pub(crate) struct BackupReader<R: Read> {
    pub(crate) header: BackupHeader,
    lines: BufReader<GzDecoder<BufReader<ChunkReader<BufReader<R>>>>>,
}

impl<R: Read> BackupReader<R> {
    pub(crate) fn open(from: R, password: Option<&BackupPassword>) -> Result<Self, BackupFileError> {
        let mut from = BufReader::new(from);
        let (header, text) = BackupHeader::read(&mut from)?;
        let cipher = cipher(&header, &text, password)?;
        let chunks = BufReader::new(ChunkReader::new(from, &text, cipher));
        Ok(Self { header, lines: BufReader::new(GzDecoder::new(chunks)) })
    }

    /// Reads the next record. The last one is returned only if the whole file is as it was written.
    pub(crate) fn next_record(&mut self) -> Result<Record, BackupFileError> {
        let mut line = Vec::new();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        self.lines.by_ref().take(limit).read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return Err(BackupFileError::Damaged);
        }
        if line.starts_with(b"[") {
            return Ok(Record::Row(serde_json::from_slice(&line)?));
        }
        Ok(match serde_json::from_slice(&line)? {
            Mark::Table { name, columns } => Record::Table { name, columns },
            Mark::TableEnd { rows } => Record::TableEnd { rows },
            Mark::End { tables, rows } => {
                self.check_end()?;
                Record::End { tables, rows }
            }
        })
    }

    /// Requires that nothing follows, in the compressed text and in the chunks, and that the checksum is right.
    fn check_end(&mut self) -> Result<(), BackupFileError> {
        let mut more = [0; 1];
        let is_end = self.lines.read(&mut more)? == 0 && self.lines.get_mut().get_mut().read(&mut more)? == 0;
        if is_end { Ok(()) } else { Err(BackupFileError::Damaged) }
    }
}

/// The cipher of a file, which has one if and only if there is a password.
fn cipher(
    header: &BackupHeader,
    text: &str,
    password: Option<&BackupPassword>,
) -> Result<Option<ChunkCipher>, BackupFileError> {
    match (&header.encryption, password) {
        (Some(how), Some(password)) => Ok(Some(ChunkCipher::new(&password.key(how)?, text))),
        (Some(_), None) => Err(BackupFileError::PasswordNeeded),
        (None, Some(_)) => Err(BackupFileError::NotEncrypted),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;
