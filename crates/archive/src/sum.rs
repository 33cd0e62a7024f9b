//! The sum of a file: how long it is, and its SHA-256.
//!
//! Guarantees: bytes are counted and hashed as they pass. Does not: keep them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use counterfoil_core::domain::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::ArchiveError;

/// How many bytes are read at once.
const CHUNK: usize = 64 * 1024;

/// Length and SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Bytes.
    pub bytes: u64,
    /// 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// Counts and hashes what passes on to `inner`, or comes from it.
pub(crate) struct Summing<T> {
    pub(crate) inner: T,
    hash: Sha256,
    bytes: u64,
}

impl<T> Summing<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }

    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn sum(&self) -> Sum {
        let digest: [u8; 32] = self.hash.clone().finalize().into();
        let sha256 = Digest::from_bytes(&digest).map(|it| it.to_hex()).unwrap_or_default();
        Sum { bytes: self.bytes, sha256 }
    }
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.pass(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Summing<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.pass(&into[..read]);
        Ok(read)
    }
}

/// The sum of a file as it stands on the disk.
pub(crate) fn of_file(path: &Path) -> Result<Sum, ArchiveError> {
    let denied = |error| ArchiveError::read(path, error);
    let mut file = Summing::new(File::open(path).map_err(denied)?);
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(file.sum()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(denied(error)),
        }
    }
}
