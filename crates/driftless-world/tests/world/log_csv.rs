//! Our npz layout and PyDPF's tables end to end.

use driftless_world::files::DataFile;
use driftless_world::files::csv::{CsvFile, CsvWriter};
use driftless_world::files::log::{LogFile, LogWriter};
use driftless_world::files::npy::Dtype;
use driftless_world::files::npz::NpzWriter;
use driftless_world::files::zip::Method;
use driftless_world::files::{Overwrite, Source};
use driftless_world::trajectory::Camera;
use driftless_world::{Dataset, Images, Labels, Observations, Pixels, Rows, Trajectory};
use std::io::Cursor;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("driftless-log-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 11) % 101) as f32 * 0.1 - 3.0).collect()
}

fn trajectory(observations: Observations, actions: usize, states: usize, seed: usize) -> Trajectory {
    let steps = observations.len();
    let mut labels = Labels::new(states);
    for t in 0..steps {
        let state = numbers(states, seed + t);
        labels.push((t % 3 != 1 && states > 0).then_some(&state));
    }
    let actions = Rows::new(actions, numbers(actions * steps, seed)).unwrap();
    Trajectory::new(observations, actions, labels).unwrap()
}

fn vectors(width: usize, steps: usize, seed: usize) -> Observations {
    Observations::Vectors(Rows::new(width, numbers(width * steps, seed)).unwrap())
}

fn episodes(observations: impl Fn(usize) -> Observations, actions: usize, states: usize) -> Vec<Trajectory> {
    (2..5).map(|steps| trajectory(observations(steps), actions, states, steps)).collect()
}

#[test]
fn logs_are_read_as_written() {
    let folder = folder("round");
    let image = |pixels| Observations::Images(Images { height: 2, width: 3, channels: 1, pixels });
    let bytes = |steps: usize| image(Pixels::Bytes((0..steps * 6).map(|i| i as u8).collect()));
    let floats = |steps: usize| image(Pixels::Floats(numbers(steps * 6, steps)));
    for (number, data) in [
        episodes(|steps| vectors(4, steps, steps), 2, 3),
        episodes(|steps| vectors(1, steps, steps), 0, 0),
        episodes(bytes, 3, 3),
        episodes(floats, 0, 2),
    ]
    .into_iter()
    .enumerate()
    {
        for method in [Method::Stored, Method::Deflated] {
            let path = folder.join(format!("{number}-{method:?}.npz"));
            let mut writer = LogWriter::create(&path, Overwrite::Refuse, method, "mine").unwrap();
            for episode in &data {
                writer.push(episode).unwrap();
            }
            writer.finish().unwrap();
            let file = LogFile::open(&path).unwrap();
            assert_eq!((file.len(), file.comment()), (3, "mine"));
            data.iter().enumerate().for_each(|(i, episode)| assert_eq!(&file.get(i).unwrap(), episode));
        }
    }
    let mut writer = LogWriter::create(folder.join("x.npz"), Overwrite::Refuse, Method::Stored, "").unwrap();
    writer.push(&trajectory(vectors(4, 2, 0), 2, 3, 0)).unwrap();
    assert!(writer.push(&trajectory(vectors(5, 2, 0), 2, 3, 0)).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

/// A camera at some steps, seconds, missing motions and bearings of beams are read as they were written.
#[test]
fn cameras_and_times_are_read_as_written() {
    let folder = folder("camera");
    let path = folder.join("log.npz");
    let mut data = episodes(|steps| vectors(2, steps, steps), 3, 3);
    for (number, episode) in data.iter_mut().enumerate() {
        let steps = episode.len();
        let pixels = Pixels::Bytes((0..steps * 12).map(|i| (i * 7 + number) as u8).collect());
        let images = Images { height: 2, width: 2, channels: 3, pixels };
        episode.camera = Some(Camera { images, known: (0..steps).map(|t| t % 2 == number % 2).collect() });
        episode.times = Some((0..steps).map(|t| 1e9 + 0.1 * t as f64).collect());
    }
    let mut writer = LogWriter::create(&path, Overwrite::Refuse, Method::Deflated, "")
        .unwrap()
        .with_beam_angles(vec![-0.5, 0.5]);
    for episode in &data {
        writer.push(episode).unwrap();
    }
    assert!(writer.push(&trajectory(vectors(2, 2, 0), 3, 3, 0)).is_err(), "without camera and times");
    writer.finish().unwrap();
    let file = LogFile::open(&path).unwrap();
    assert_eq!(file.beam_angles(), Some(&[-0.5, 0.5][..]));
    data.iter().enumerate().for_each(|(i, episode)| assert_eq!(&file.get(i).unwrap(), episode));
    std::fs::remove_dir_all(folder).unwrap();
}

type Given<'a> = (&'a str, Dtype, &'a [usize], Vec<f32>);

/// Float arrays as given, integers where the type says so.
fn log(arrays: &[Given]) -> Source {
    let mut writer = NpzWriter::new(Cursor::new(Vec::new()), Method::Deflated);
    for (name, dtype, shape, values) in arrays {
        writer.array(name, *dtype, shape).unwrap();
        for value in values {
            match *dtype {
                Dtype::I64 => writer.write(&(*value as i64).to_le_bytes()).unwrap(),
                _ => writer.write(&value.to_le_bytes()).unwrap(),
            }
        }
        writer.end().unwrap();
    }
    writer.finish("").unwrap().into_inner().into()
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table of mistakes")]
fn logs_say_what_is_wrong() {
    let problem = |arrays: &[Given]| match LogFile::from_source(log(arrays)) {
        Ok(file) => {
            (0..file.len()).find_map(|i| file.get(i).err()).map_or("fine".into(), |error| error.to_string())
        }
        Err(error) => error.to_string(),
    };
    let f = Dtype::F32;
    let seen = || ("observations", f, [4, 2].as_slice(), vec![0.5; 8]);
    let lengths = |values: &[f32], count: &'static [usize]| ("lengths", Dtype::I64, count, values.to_vec());
    assert_eq!(problem(&[seen()]), "fine");
    assert_eq!(problem(&[seen(), lengths(&[3.0, 1.0], &[2])]), "fine");
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for (arrays, expected) in [
        (vec![], "field observations: is missing"),
        (vec![("observations", f, &[4][..], vec![0.0; 4])], "(steps, numbers)"),
        (vec![("observations", f, &[0, 2], vec![])], "there is no step"),
        (vec![("observations", f, &[2, 0], vec![])], "holds nothing"),
        (vec![("observations", f, &[2, 1], vec![nan, inf])], "fine"),
        (vec![seen(), ("beam_angles", f, &[3], vec![0.0; 3])], "field beam_angles: has shape [3], but (2,)"),
        (vec![seen(), ("beam_angles", f, &[2], vec![0.0, nan])], "field beam_angles: holds NaN at beam 1"),
        (
            vec![("observations", f, &[2, 1, 1], vec![0.0, nan])],
            "episode 0: field observations: holds NaN at step 1, column 0; leave out",
        ),
        (vec![seen(), ("actions", f, &[3, 2], vec![0.0; 6])], "field actions: has shape [3, 2]"),
        (vec![seen(), ("actions", f, &[4, 1], vec![0.0, 0.0, inf, 0.0])], "holds inf at step 2, column 0"),
        (vec![seen(), ("actions", f, &[4, 1], vec![0.0, 0.0, nan, 0.0])], "fine"),
        (
            vec![seen(), ("actions", f, &[4, 2], vec![0.0, 0.0, nan, 0.0, nan, nan, 0.0, 0.0])],
            "holds NaN at step 1, column 0; a missing action is a row of NaN",
        ),
        (vec![seen(), ("times", f, &[4], vec![0.0, 1.0, 1.0, 2.0])], "fine"),
        (vec![seen(), ("times", f, &[3], vec![0.0; 3])], "field times: has shape [3], but (4,)"),
        (
            vec![seen(), ("times", f, &[4], vec![0.0, 2.0, 1.0, 3.0])],
            "is 1 at step 2, before the step before",
        ),
        (vec![seen(), ("times", f, &[4], vec![0.0, nan, 1.0, 3.0])], "is NaN at step 1"),
        (
            vec![seen(), ("images", f, &[4, 1, 1], vec![0.0; 4])],
            "field images: holds other numbers than uint8",
        ),
        (vec![seen(), ("images", f, &[3, 1, 1], vec![0.0; 3])], "field images: has shape [3, 1, 1], but (4,"),
        (vec![seen(), ("has_image", f, &[3], vec![0.0; 3])], "field has_image: has shape [3]"),
        (
            vec![("observations", f, &[1, 1, 1], vec![0.0]), ("images", f, &[1, 1, 1], vec![0.0])],
            "field images: observations are images already",
        ),
        (vec![seen(), ("poses", f, &[4, 1], vec![0.0, inf, 0.0, 0.0])], "step 1 holds an infinite"),
        (
            vec![seen(), ("poses", f, &[4, 2], vec![0.0, 0.0, nan, nan, nan, 0.0, 0.0, 0.0])],
            "field poses: step 2 is NaN in part",
        ),
        (vec![seen(), lengths(&[3.0, 2.0], &[2])], "add up to more than the 4"),
        (vec![seen(), lengths(&[1.0, 2.0], &[2])], "add up to 3 steps, but there are 4"),
        (vec![seen(), lengths(&[4.0, 0.0], &[2])], "episode 1 has length 0"),
        (vec![seen(), lengths(&[-4.0], &[1])], "length -4"),
        (vec![seen(), lengths(&[1.0; 5], &[5])], "names 5 episodes for 4 steps"),
        (vec![seen(), ("lengths", f, &[1], vec![4.0])], "integers are needed"),
    ] {
        let message = problem(&arrays);
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn tables_are_read_as_written() {
    let folder = folder("csv");
    for (number, data) in
        [episodes(|steps| vectors(3, steps, steps), 2, 2), episodes(|steps| vectors(1, steps, 0), 0, 0)]
            .into_iter()
            .enumerate()
    {
        let path = folder.join(format!("{number}.csv"));
        let mut writer = CsvWriter::create(&path, Overwrite::Refuse).unwrap();
        for episode in &data {
            writer.push(episode).unwrap();
        }
        writer.finish().unwrap();
        let file = CsvFile::open(&path).unwrap();
        assert_eq!(file.len(), 3);
        data.iter().enumerate().for_each(|(i, episode)| assert_eq!(&file.get(i).unwrap(), episode));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_holds_a_series_a_file() {
    let folder = folder("many");
    for number in [10, 9, 1] {
        std::fs::write(folder.join(format!("{number}.csv")), format!("observation_1\n{number}\n")).unwrap();
    }
    std::fs::write(folder.join("series_metadata.csv"), "anything\n").unwrap();
    std::fs::write(folder.join("notes.txt"), "anything\n").unwrap();
    let file = CsvFile::open(&folder).unwrap();
    let first = |i: usize| match file.get(i).unwrap().observations {
        Observations::Vectors(rows) => rows.values()[0],
        Observations::Images(_) => panic!("vectors"),
    };
    assert_eq!([first(0), first(1), first(2)], [1.0, 9.0, 10.0]);
    std::fs::write(folder.join("11.csv"), "observation_1,observation_2\n1,2\n").unwrap();
    let error = CsvFile::open(&folder).unwrap_err().to_string();
    assert!(error.contains("11.csv") && error.contains("other observation"), "{error}");
    std::fs::write(folder.join("11.csv"), "series_id,observation_1\n1,2\n").unwrap();
    assert!(CsvFile::open(&folder).unwrap_err().to_string().contains("remove the column"));
    std::fs::write(folder.join("11.csv"), "observation_1\nx\n").unwrap();
    assert!(CsvFile::open(&folder).unwrap_err().to_string().contains("11.csv: line 2: field observation_1"));
    std::fs::remove_dir_all(folder).unwrap();
}
