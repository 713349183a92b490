//! Opens PF-net's record files and reads single episodes of them, in any order.

use super::{ChannelOrder, HouseEpisode, HouseSummary, decode, summarize};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::Source;
use crate::files::png_image::MAX_SIDE;
use crate::files::tfrecord::RecordFile;
use std::path::Path;

/// How episodes are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PfnetOptions {
    /// Height and width to which images are resized (see [`super::resize_bilinear`]), or `None` to keep
    /// their size. PF-net's networks take 56 × 56, which is the default.
    pub image_size: Option<(usize, usize)>,
    /// Order of the colours.
    pub channel_order: ChannelOrder,
    /// Cut episodes to this many steps (PF-net's `trajlen`); shorter ones are an error.
    pub steps: Option<usize>,
    /// Whether colour images are read, if there are any.
    pub rgb: bool,
    /// Whether depth images are read, if there are any.
    pub depth: bool,
}

impl Default for PfnetOptions {
    fn default() -> Self {
        Self {
            image_size: Some((56, 56)),
            channel_order: ChannelOrder::Rgb,
            steps: None,
            rgb: true,
            depth: true,
        }
    }
}

impl PfnetOptions {
    pub(super) fn check(&self) -> Result<()> {
        if self.steps == Some(0) {
            return Err(Error::new("episodes cannot be cut to 0 steps"));
        }
        match self.image_size {
            Some((height, width)) if height.min(width) == 0 || height.max(width) > MAX_SIDE => {
                Err(Error::new(format!("images cannot be resized to {width} x {height}")))
            }
            _ => Ok(()),
        }
    }
}

/// An open file of episodes. Only its index is in memory.
#[derive(Debug)]
pub struct PfnetFile {
    records: RecordFile,
    options: PfnetOptions,
}

impl PfnetFile {
    /// Opens a file; its records are found, but not yet read.
    pub fn open(path: impl AsRef<Path>, options: PfnetOptions) -> Result<Self> {
        options.check()?;
        Ok(Self { records: RecordFile::open(path)?, options })
    }

    /// The same for any source of bytes.
    pub fn from_source(source: Source, options: PfnetOptions) -> Result<Self> {
        options.check()?;
        Ok(Self { records: RecordFile::from_source(source)?, options })
    }

    /// What episode `index` holds, without decoding maps and images; all its steps.
    pub fn without_images(&self, index: usize) -> Result<HouseSummary> {
        self.with_record(index, summarize)
    }

    fn with_record<T>(&self, index: usize, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let mut record = Vec::new();
        self.records.read(index, &mut record)?;
        read(&record).map_err(|error| self.records.named(error.in_record(format!("record {index}"))))
    }
}

impl Dataset for PfnetFile {
    type Episode = HouseEpisode;

    fn len(&self) -> usize {
        self.records.len()
    }

    fn get(&self, index: usize) -> Result<HouseEpisode> {
        self.with_record(index, |record| decode(record, &self.options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_options_are_refused_before_the_file_is_opened() {
        let refused = [
            PfnetOptions { steps: Some(0), ..Default::default() },
            PfnetOptions { image_size: Some((0, 56)), ..Default::default() },
            PfnetOptions { image_size: Some((56, MAX_SIDE + 1)), ..Default::default() },
        ];
        for options in refused {
            let error = PfnetFile::open("does-not-exist.tfrecords", options).unwrap_err();
            assert!(error.to_string().contains("cannot be"), "{error}");
        }
    }
}
