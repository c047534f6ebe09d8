//! The chunks of a backup, and the checksum at its end.

use std::io::{self, Cursor, ErrorKind, Read, Write};

use sha2::{Digest as _, Sha256};

use super::BackupFileError;
use super::chunk_cipher::ChunkCipher;

const CHUNK_BYTES: usize = 65_536;
/// The bytes that sealing adds to a chunk.
const TAG_BYTES: usize = 16;
/// Marks the last chunk, in the length at its beginning.
const LAST: u32 = 1 << 31;

/// Cuts what is written into chunks.
pub(super) struct ChunkWriter<W> {
    out: W,
    cipher: Option<ChunkCipher>,
    hash: Sha256,
    chunk: Vec<u8>,
    bytes: u64,
}

impl<W: Write> ChunkWriter<W> {
    /// Writes the header, which the chunks follow.
    pub(super) fn begin(out: W, header: &str, cipher: Option<ChunkCipher>) -> io::Result<Self> {
        let mut writer = Self { out, cipher, hash: Sha256::new(), chunk: Vec::with_capacity(CHUNK_BYTES), bytes: 0 };
        writer.put(header.as_bytes())?;
        Ok(writer)
    }

    /// Writes the last chunk and the checksum; returns the output and the size of the file.
    pub(super) fn finish(mut self) -> io::Result<(W, u64)> {
        self.put_chunk(true)?;
        let checksum: [u8; 32] = self.hash.clone().finalize().into();
        self.put(&checksum)?;
        self.out.flush()?;
        Ok((self.out, self.bytes))
    }

    fn put_chunk(&mut self, is_last: bool) -> io::Result<()> {
        let sealed = self.cipher.as_mut().map(|cipher| cipher.close(&self.chunk, is_last)).transpose()?;
        let content = sealed.unwrap_or_else(|| self.chunk.clone());
        self.chunk.clear();
        let length = u32::try_from(content.len()).map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        let mark = if is_last { LAST } else { 0 };
        self.put(&(length | mark).to_be_bytes())?;
        self.put(&content)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += u64::try_from(bytes.len()).unwrap_or(0);
        self.out.write_all(bytes)
    }
}

impl<W: Write> Write for ChunkWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.chunk.len() == CHUNK_BYTES {
            self.put_chunk(false)?;
        }
        let taken = bytes.get(..CHUNK_BYTES - self.chunk.len()).unwrap_or(bytes);
        self.chunk.extend_from_slice(taken);
        Ok(taken.len())
    }

    /// Does nothing: a chunk is written when it is full, or the last.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the content of the chunks. The content of the last chunk is returned only if the checksum is right and nothing follows.
pub(super) struct ChunkReader<R> {
    from: R,
    cipher: Option<ChunkCipher>,
    hash: Sha256,
    chunk: Cursor<Vec<u8>>,
    had_last: bool,
}

impl<R: Read> ChunkReader<R> {
    /// Reads the chunks that follow this header.
    pub(super) fn new(from: R, header: &str, cipher: Option<ChunkCipher>) -> Self {
        let mut hash = Sha256::new();
        hash.update(header.as_bytes());
        Self { from, cipher, hash, chunk: Cursor::default(), had_last: false }
    }

    fn next_chunk(&mut self) -> Result<(), BackupFileError> {
        let mut frame = [0; 4];
        self.from.read_exact(&mut frame)?;
        let frame_number = u32::from_be_bytes(frame);
        let (is_last, length) = (frame_number & LAST != 0, usize::try_from(frame_number & !LAST).unwrap_or(usize::MAX));
        if length > CHUNK_BYTES + TAG_BYTES {
            return Err(BackupFileError::Damaged);
        }
        let mut content = vec![0; length];
        self.from.read_exact(&mut content)?;
        self.hash.update(frame);
        self.hash.update(&content);
        let opened = self.cipher.as_mut().map(|cipher| cipher.open(&content, is_last)).transpose()?;
        if is_last {
            self.check_end()?;
        }
        self.had_last = is_last;
        self.chunk = Cursor::new(opened.unwrap_or(content));
        Ok(())
    }

    fn check_end(&mut self) -> Result<(), BackupFileError> {
        let (mut found, mut more) = ([0; 32], [0; 1]);
        self.from.read_exact(&mut found)?;
        let checksum: [u8; 32] = self.hash.clone().finalize().into();
        let is_end = self.from.read(&mut more)? == 0;
        if found == checksum && is_end { Ok(()) } else { Err(BackupFileError::Damaged) }
    }
}

impl<R: Read> Read for ChunkReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.chunk.read(into)?;
            if read > 0 || into.is_empty() || self.had_last {
                return Ok(read);
            }
            self.next_chunk()?;
        }
    }
}
