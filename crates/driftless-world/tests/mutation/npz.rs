//! Damaged archives, logs and tables.

use crate::survive::survive;
use driftless_world::files::Source;
use driftless_world::files::csv::CsvFile;
use driftless_world::files::dpf::{Crop, DpfFile, DpfOptions};
use driftless_world::files::log::LogFile;
use driftless_world::files::npy::{Dtype, header_bytes};
use driftless_world::files::zip::{Method, ZipFile, ZipWriter};
use driftless_world::random::Random;
use driftless_world::{Dataset, Error};
use std::fmt::Write as _;
use std::io::{Cursor, Write};

/// An archive's parts before they are zipped: (entry name, npy bytes).
type Parts = Vec<(String, Vec<u8>)>;

fn part(name: &str, dtype: Dtype, shape: &[usize], bytes: Vec<u8>) -> (String, Vec<u8>) {
    (format!("{name}.npy"), [header_bytes(dtype, shape), bytes].concat())
}

fn floats(count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| (i as f32 * 0.5).to_le_bytes()).collect()
}

fn doubles(count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| (i as f64 * 7.5).to_le_bytes()).collect()
}

fn dpf_parts() -> Parts {
    vec![
        part("pose", Dtype::F64, &[10, 3], doubles(30)),
        part("vel", Dtype::F64, &[10, 3], doubles(30)),
        part("rgbd", Dtype::U8, &[10, 4, 4, 4], (0..640_u32).map(|i| i as u8).collect()),
    ]
}

fn log_parts() -> Parts {
    let lengths = [3_i64, 7].iter().flat_map(|length| length.to_le_bytes()).collect();
    let mut poses = floats(30);
    poses[..12].copy_from_slice(&f32::NAN.to_le_bytes().repeat(3));
    vec![
        part("observations", Dtype::F32, &[10, 2, 2], floats(40)),
        part("actions", Dtype::F32, &[10, 2], floats(20)),
        part("poses", Dtype::F32, &[10, 3], poses),
        part("lengths", Dtype::I64, &[2], lengths),
    ]
}

fn zipped(parts: &Parts, method: Method) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer.begin(name, method, b"").unwrap();
        writer.write_all(bytes).unwrap();
        writer.end(b"").unwrap();
    }
    writer.finish(b"comment").unwrap().into_inner()
}

fn method(random: &mut Random) -> Method {
    if random.chance(0.5) { Method::Stored } else { Method::Deflated }
}

/// Flips, overwrites, inserts, removes, truncates or splices, a few times.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b'9', b'-'][random.below(8)],
            2 => drop(
                bytes.splice(at..at, (0..random.below(9)).map(|_| random.bits() as u8).collect::<Vec<_>>()),
            ),
            3 => drop(bytes.drain(at..end)),
            4 if random.chance(0.2) => bytes.truncate(at),
            5 => {
                let from = random.below(bytes.len() + 1);
                let piece = bytes[from..(from + random.below(200)).min(bytes.len())].to_vec();
                bytes.splice(at..end, piece);
            }
            6 => {
                let strange =
                    [f64::NAN, f64::INFINITY, 1e300, -1e39, 0.0, -1.0][random.below(6)].to_le_bytes();
                bytes.iter_mut().skip(at).zip(strange).for_each(|(byte, new)| *byte = new);
            }
            _ => {
                // A digit in a header, wherever there is one after `at`.
                let digit = b'0' + random.below(10) as u8;
                if let Some(byte) = bytes.iter_mut().skip(at).find(|byte| byte.is_ascii_digit()) {
                    *byte = digit;
                }
            }
        }
    }
}

/// Either the archive's bytes are damaged, or a part before it is zipped with right checksums.
fn mutant(parts: &Parts, random: &mut Random) -> Vec<u8> {
    if random.chance(0.5) {
        let mut bytes = zipped(parts, method(random));
        damage(&mut bytes, random);
        return bytes;
    }
    let mut parts = parts.clone();
    let which = random.below(parts.len());
    match random.below(10) {
        0 => drop(parts.remove(which)),
        1 => {
            let other = parts[random.below(parts.len())].1.clone();
            parts[which].1 = other;
        }
        2 => parts[which].0 = String::from(["", "../a", "x.npy", "pose.npy"][random.below(4)]),
        _ => {
            // Mostly the header, which is where the dangerous numbers are.
            let bytes = &mut parts[which].1;
            let keep = if random.chance(0.7) { 128.min(bytes.len()) } else { bytes.len() };
            let tail = bytes.split_off(keep);
            damage(bytes, random);
            bytes.extend(tail);
        }
    }
    zipped(&parts, method(random))
}

fn read_all(data: &impl Dataset) -> Result<(), Error> {
    (0..data.len().min(50)).try_for_each(|index| data.get(index).map(drop))
}

/// Whatever is wrong is said in words.
fn torture(make: impl Fn(&mut Random) -> Vec<u8> + Sync, read: impl Fn(Vec<u8>) -> Result<(), Error> + Sync) {
    survive(2024, |random| {
        let result = read(make(random));
        assert!(!result.as_ref().is_err_and(|error| error.to_string().trim().is_empty()), "not a word");
        result.is_ok()
    });
}

#[test]
fn dpf_files() {
    let parts = dpf_parts();
    let options = DpfOptions { steps_per_episode: Some(5), crop: Crop::Random(3), ..DpfOptions::default() };
    let read = |bytes: Vec<u8>| {
        let file = DpfFile::from_source(Source::from(bytes), options.clone())?;
        file.recording(0)?;
        read_all(&file)
    };
    read(zipped(&parts, Method::Deflated)).unwrap();
    torture(|random| mutant(&parts, random), read);
}

#[test]
fn log_files() {
    let parts = log_parts();
    let read = |bytes: Vec<u8>| read_all(&LogFile::from_source(Source::from(bytes))?);
    read(zipped(&parts, Method::Deflated)).unwrap();
    torture(|random| mutant(&parts, random), read);
}

/// States of five coordinates, and as many changes.
#[test]
fn logs_of_named_coordinates() {
    let mut parts = log_parts();
    let mut states = floats(50);
    states[..20].copy_from_slice(&f32::NAN.to_le_bytes().repeat(5));
    parts[0] = part("observations", Dtype::F32, &[10, 4], floats(40));
    parts[1] = part("actions", Dtype::F32, &[10, 5], floats(50));
    parts[2] = part("poses", Dtype::F32, &[10, 5], states);
    let read = |bytes: Vec<u8>| read_all(&LogFile::from_source(Source::from(bytes))?);
    read(zipped(&parts, Method::Deflated)).unwrap();
    torture(|random| mutant(&parts, random), read);
}

#[test]
fn zip_files() {
    let parts = log_parts();
    let read = |bytes: Vec<u8>| {
        let file = ZipFile::new(bytes.into())?;
        let names: Vec<String> = file.names().map(str::to_owned).collect();
        names.iter().try_for_each(|name| {
            let section = file.entry(name)?;
            section.read_vec(0, section.len()).map(drop)
        })
    };
    let make = |random: &mut Random| {
        let mut bytes = zipped(&parts, method(random));
        // The table of contents is a tenth of the file, but where the traps are.
        let keep = if random.chance(0.5) { bytes.len() - 300 } else { 0 };
        let mut tail = bytes.split_off(keep);
        damage(&mut tail, random);
        bytes.extend(tail);
        bytes
    };
    torture(make, read);
}

#[test]
fn csv_files() {
    let mut text = String::from("series_id,time,state_1,state_2,observation_1,observation_2,control_1\n");
    for row in 0..12 {
        let state = if row % 3 == 0 { ",nan".to_owned() } else { format!("{row},-1e-3") };
        write!(text, "{},{row},{state},{row}.5,\"{row}\",+0.25\r\n", row / 4).unwrap();
    }
    let make = |random: &mut Random| {
        let mut bytes = text.clone().into_bytes();
        damage(&mut bytes, random);
        bytes
    };
    torture(make, |bytes| read_all(&CsvFile::from_bytes(&bytes)?));
}
