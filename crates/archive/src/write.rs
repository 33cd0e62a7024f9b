//! Writes a file of lines, and reads it back before anybody may rely on it.
//!
//! Guarantees: it has its name only once it is durable and every line of it was read back from
//! the disk as it was written. Does not: remove anything from a store.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use counterfoil_core::domain::{Digest, Micros};
use counterfoil_core::port::archive::Entry;

use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::lines::Lines;
use crate::manifest::{Counted, Manifest};
use crate::name::{self, LINES, MANIFEST, PART};
use crate::sum::{self, Sum, Summing};
use crate::work::{Step, Watch};
use crate::{durable, line};

/// The level of compression: JSON lines shrink well at any, and this one is fast.
const LEVEL: i32 = 3;

type Frame = zstd::Encoder<'static, Summing<BufWriter<File>>>;

/// Lines that are written, compressed, to a file that has no name of its own yet.
pub(crate) struct LineWriter {
    path: PathBuf,
    frame: Frame,
    lines: Summing<()>,
    /// Of each line, to compare when it is read back.
    digests: Vec<Digest>,
}

impl LineWriter {
    pub(crate) fn create(path: PathBuf) -> Result<Self, ArchiveError> {
        let begin = || {
            let file = Summing::new(BufWriter::new(File::create(&path)?));
            let mut frame = zstd::Encoder::new(file, LEVEL)?;
            frame.include_checksum(true)?;
            Ok(frame)
        };
        let frame = begin().map_err(|error| ArchiveError::written(&path, error))?;
        Ok(Self { path, frame, lines: Summing::new(()), digests: Vec::new() })
    }

    /// Adds a line with its line end.
    pub(crate) fn add(&mut self, line: &[u8]) -> Result<(), ArchiveError> {
        self.digests.push(Digest::of(line));
        self.lines.pass(line);
        self.frame.write_all(line).map_err(|error| ArchiveError::written(&self.path, error))
    }

    /// How many lines, and how many bytes they are.
    pub(crate) fn size(&self) -> (u64, u64) {
        (self.digests.len() as u64, self.lines.bytes())
    }

    /// Ends the file, makes it durable, and reads it back; the sums of file and lines.
    pub(crate) fn finish(self, watch: &dyn Watch) -> Result<(Sum, Sum), ArchiveError> {
        let Self { path, frame, lines, digests } = self;
        let part = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let part = part.unwrap_or_default();
        let end = || {
            let summing = frame.finish()?;
            let sum = summing.sum();
            let file = summing.inner.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.sync_all()?;
            forget(&file);
            Ok(sum)
        };
        let compressed = end().map_err(|error| ArchiveError::written(&path, error))?;
        watch.reached(Step::Synced(&part));
        read_back(&path, &compressed, &digests)?;
        watch.reached(Step::ReadBack(&part));
        Ok((compressed, lines.sum()))
    }
}

/// Lets the system forget what it holds of a synced file in memory, so that reading it back reads
/// the disk. It is a hint; where there is none, the read proves a little less.
fn forget(file: &File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

fn read_back(path: &Path, compressed: &Sum, digests: &[Digest]) -> Result<(), ArchiveError> {
    let differs = || ArchiveError::ReadBack { path: path.to_owned() };
    if sum::of_file(path)? != *compressed {
        return Err(differs());
    }
    let mut lines = Lines::open(path)?;
    let mut digests = digests.iter();
    while let Some(mut line) = lines.line().map_err(|_| differs())? {
        line.push(b'\n');
        if digests.next() != Some(&Digest::of(&line)) {
            return Err(differs());
        }
    }
    if digests.next().is_some() { Err(differs()) } else { Ok(()) }
}

/// A file of commands that is being written.
pub(crate) struct FileWriter {
    begun_at: Micros,
    part: String,
    lines: LineWriter,
    counted: Counted,
}

impl FileWriter {
    pub(crate) fn begin(
        (folder, source): (&Folder, &str),
        begun_at: Micros,
        first: &Entry,
        watch: &dyn Watch,
    ) -> Result<Self, ArchiveError> {
        let n = first.outbox.n;
        // Where it will end is not known yet.
        let stem = name::stem(begun_at, &name::store(source), (n, 0));
        let part = format!("{stem}{LINES}{PART}");
        let lines = LineWriter::create(folder.at(&part))?;
        watch.reached(Step::Began(&part));
        Ok(Self { begun_at, part, lines, counted: Counted::new() })
    }

    pub(crate) fn add(&mut self, entry: &Entry, watch: &dyn Watch) -> Result<(), ArchiveError> {
        self.lines.add(&line::encode(entry))?;
        self.counted.add(entry);
        watch.reached(Step::Written(self.counted.commands));
        Ok(())
    }

    /// How many commands, and how many bytes their lines are.
    pub(crate) fn size(&self) -> (u64, u64) {
        self.lines.size()
    }

    /// Where it lies until it is whole.
    pub(crate) fn path(&self, folder: &Folder) -> PathBuf {
        folder.at(&self.part)
    }

    /// Ends it; its stem and its manifest, both durable.
    pub(crate) fn finish(
        self,
        folder: &Folder,
        source: &str,
        watch: &dyn Watch,
    ) -> Result<(String, Manifest), ArchiveError> {
        let Self { begun_at, part, lines, counted } = self;
        let sums = lines.finish(watch)?;
        let range = counted.range.unwrap_or_default();
        let mut at = begun_at;
        let stem = loop {
            let stem = name::stem(at, &name::store(source), range);
            if !folder.has(&format!("{stem}{LINES}")) {
                break stem;
            }
            at = Micros::new(at.get() + 1);
        };
        let file = format!("{stem}{LINES}");
        durable::rename(folder, &part, &file, watch)?;
        let manifest = Manifest::new((&file, source), at, &counted, sums);
        manifest.put(folder, (&stem, MANIFEST), watch)?;
        Ok((stem, manifest))
    }
}
