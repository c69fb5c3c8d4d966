//! What is recorded is what is read back, or a beginning of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dalembert::state::{Layout, State};
use dalembert_formats::recording::{
    Frame, Header, Recording, RecordingError, Writer, atomic_write, csv, diff,
};
use proptest::prelude::*;

fn header(state_len: usize) -> Header {
    Header {
        scene: "title = \"ball, \\\"door\\\" and é\"\n".into(),
        assets: Default::default(),
        scene_name: "door".into(),
        engine_version: "0.1.0".into(),
        method: "impulse".into(),
        dt: 0.1 + 0.2,
        seed: u64::MAX,
        options: BTreeMap::from([("threads".into(), "2".into())]),
        state_len,
        layout: serde_json::json!({"ball": [0, 3]}),
        scalar_names: vec!["kinetic [J]".into(), "contacts".into()],
        older_format: None,
    }
}

/// Numbers on which sloppy copying shows.
const AWKWARD: [f64; 8] =
    [-0.0, 5e-324, f64::MIN_POSITIVE / 3.0, f64::MAX, f64::NEG_INFINITY, 0.1 + 0.2, -1.0 / 3.0, f64::NAN];

fn state(i: usize, len: usize) -> Vec<f64> {
    let number = |j: usize| match (i + j) % 3 {
        0 => AWKWARD[(i * 5 + j) % AWKWARD.len()],
        1 => f64::from_bits(0x7ff8_0000_dead_0000 + (i * len + j) as u64), // NaN with a payload
        _ => ((i * 31 + j * 17) as f64).sin() * 1e3,
    };
    (0..len).map(number).collect()
}

/// Writes frames `range`, two to a chunk.
fn write_some(writer: &mut Writer, range: std::ops::Range<usize>, len: usize) {
    for i in range {
        writer.write_scalars(i as f64 * 0.01, &[(i as f64).sqrt(), i as f64]).unwrap();
        writer.write_frame(i as f64 * 0.01, i as u64, &state(i, len)).unwrap();
        if i % 2 == 1 {
            writer.flush().unwrap();
        }
    }
}

fn write_file(path: &Path, frames: usize, len: usize) {
    let mut writer = Writer::create(path, &header(len)).unwrap();
    write_some(&mut writer, 0..frames, len);
    writer.finish().unwrap();
}

fn bits(frame: &Frame) -> (u64, u64, Vec<u64>) {
    (frame.time.to_bits(), frame.step, frame.state.iter().map(|x| x.to_bits()).collect())
}

fn all_bits(recording: &Recording) -> Vec<(u64, u64, Vec<u64>)> {
    recording.frames().map(|frame| bits(&frame.unwrap())).collect()
}

#[test]
fn a_recording_reads_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    write_file(&path, 25, 11);
    assert!(!folder.path().join("run.mcap.part").exists());

    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.header(), &header(11));
    assert_eq!((recording.frame_count(), recording.scalar_count()), (25, 25));
    assert_eq!((recording.truncated(), recording.from_part()), (None, false));
    for i in (0..25).rev() {
        let frame = recording.frame(i).unwrap();
        let written = Frame { time: i as f64 * 0.01, step: i as u64, state: state(i, 11) };
        assert_eq!(bits(&frame), bits(&written), "frame {i}");
    }
    assert_eq!(bits(&recording.last_frame().unwrap()), bits(&recording.frame(24).unwrap()));
    for (i, row) in recording.scalars().enumerate() {
        let row = row.unwrap();
        assert_eq!(row.values[0].to_bits(), (i as f64).sqrt().to_bits());
        assert_eq!(row.time.to_bits(), (i as f64 * 0.01).to_bits());
    }
    let error = recording.frame(25).unwrap_err().to_string();
    assert!(error.contains("has 25 frames; there is no frame 25"), "{error}");
}

#[test]
fn large_states_are_split_over_chunks_by_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let len = 40_000;
    let mut writer = Writer::create(&path, &header(len)).unwrap();
    for i in 0..12 {
        writer.write_frame(i as f64, i as u64, &state(i, len)).unwrap();
    }
    // No flush: the chunks closed so far are on their way to the file all the same.
    assert!(fs::metadata(writer.part_path()).unwrap().len() > 1_000_000);
    writer.finish().unwrap();
    let recording = Recording::open(&path).unwrap();
    for i in [11, 0, 5, 4, 5] {
        assert_eq!(bits(&recording.frame(i).unwrap()).2, state(i, len).map_bits());
    }
}

trait MapBits {
    fn map_bits(&self) -> Vec<u64>;
}

impl MapBits for Vec<f64> {
    fn map_bits(&self) -> Vec<u64> {
        self.iter().map(|x| x.to_bits()).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bits_survive(
        frames in prop::collection::vec(prop::collection::vec(any::<u64>(), 4), 0..20),
        rows in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.mcap");
        let names = vec!["energy [J]".into()];
        let header = Header { state_len: 3, scalar_names: names, ..Header::default() };
        let mut writer = Writer::create(&path, &header).unwrap();
        for row in &rows {
            writer.write_scalars(0.5, &[f64::from_bits(*row)]).unwrap();
        }
        for frame in &frames {
            let numbers: Vec<f64> = frame.iter().map(|&bits| f64::from_bits(bits)).collect();
            writer.write_frame(numbers[0], frame[0], &numbers[1..]).unwrap();
        }
        writer.finish().unwrap();
        let recording = Recording::open(&path).unwrap();
        let read = all_bits(&recording);
        prop_assert_eq!(read.len(), frames.len());
        for (read, written) in read.iter().zip(&frames) {
            prop_assert_eq!((read.0, read.1, &read.2[..]), (written[0], written[0], &written[1..]));
        }
        for (read, written) in recording.scalars().zip(&rows) {
            let (read, written) = (read.unwrap().values[0], f64::from_bits(*written));
            let same = if written.is_finite() { read.to_bits() == written.to_bits() } else { read.is_nan() };
            prop_assert!(same, "{written:e} came back as {read:e}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_yields_a_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    write_file(&path, 9, 5);
    let whole = fs::read(&path).unwrap();
    let frames = all_bits(&Recording::open(&path).unwrap());
    let cut = folder.path().join("cut.mcap");
    let mut most = 0;
    for length in 0..whole.len() {
        fs::write(&cut, &whole[..length]).unwrap();
        let recording = match Recording::open(&cut) {
            Ok(recording) => recording,
            Err(RecordingError::NotMcap { .. }) if length == 0 => continue,
            Err(RecordingError::NoHeader { .. }) if most == 0 => continue,
            Err(error) => panic!("{length} bytes: {error}"),
        };
        let ignored = recording.truncated().unwrap_or_else(|| panic!("{length} bytes pass as whole"));
        assert!(ignored <= length as u64);
        let found = all_bits(&recording);
        assert_eq!(found[..], frames[..found.len()], "{length} bytes");
        assert!(found.len() >= most && recording.scalars().all(|row| row.is_ok()));
        most = found.len();
    }
    assert_eq!(most, 9, "the last frames must not need the summary");
}

#[test]
fn a_killed_writer_leaves_what_it_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let mut writer = Writer::create(&path, &header(5)).unwrap();
    assert_eq!(Recording::open(&path).unwrap().frame_count(), 0);
    write_some(&mut writer, 0..7, 5); // flushes after frame 5
    std::mem::forget(writer); // neither finished nor dropped, as after SIGKILL
    let recording = Recording::open(&path).unwrap();
    assert!(recording.from_part() && !path.exists());
    assert_eq!((recording.frame_count(), recording.truncated()), (6, Some(0)));
    assert_eq!(recording.path(), folder.path().join("run.mcap.part"));
}

#[test]
fn a_dropped_writer_leaves_the_part_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let mut writer = Writer::create(&path, &header(5)).unwrap();
    write_some(&mut writer, 0..7, 5);
    drop(writer);
    assert!(!path.exists());
    let recording = Recording::open(&path).unwrap();
    assert_eq!((recording.frame_count(), recording.from_part()), (7, true));
}

#[test]
fn a_chunk_is_closed_after_about_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let mut writer = Writer::create(&path, &header(1)).unwrap();
    writer.write_frame(0.0, 0, &[1.0]).unwrap();
    assert_eq!(Recording::open(&path).unwrap().frame_count(), 0);
    std::thread::sleep(std::time::Duration::from_millis(1050));
    writer.write_frame(0.1, 1, &[2.0]).unwrap();
    assert_eq!(Recording::open(&path).unwrap().frame_count(), 2);
}

#[test]
fn a_continued_recording_equals_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.mcap", "b.mcap"].map(|name| folder.path().join(name));
    write_file(&a, 12, 5);
    let original = Recording::open(&a).unwrap();
    for k in 0..12 {
        let mut writer = Writer::continue_from(&original, k, &b).unwrap();
        write_some(&mut writer, k + 1..12, 5);
        writer.finish().unwrap();
        let copy = Recording::open(&b).unwrap();
        assert_eq!(copy.header(), original.header());
        assert!(diff(&original, &copy, 0.0).unwrap().bit_equal);
        let rows = |r: &Recording| r.scalars().map(|row| row.unwrap()).collect::<Vec<_>>();
        assert_eq!(rows(&copy), rows(&original));
    }
    let error = Writer::continue_from(&original, 12, &b).err().unwrap().to_string();
    assert!(error.contains("no frame 12"), "{error}");
}

#[test]
fn an_unfinished_recording_continues_under_its_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let mut writer = Writer::create(&path, &header(5)).unwrap();
    write_some(&mut writer, 0..8, 5);
    let killed = Recording::open(&path).unwrap();
    let error = Writer::continue_from(&killed, 4, &path).err().unwrap().to_string();
    assert!(error.contains("another process is writing it"), "{error}");
    drop(writer);
    let mut writer = Writer::continue_from(&killed, 4, &path).unwrap();
    write_some(&mut writer, 5..10, 5);
    writer.finish().unwrap();
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["run.mcap"]);
    // Once more, now from the finished file to its own name.
    let mut writer = Writer::continue_from(&Recording::open(&path).unwrap(), 6, &path).unwrap();
    write_some(&mut writer, 7..10, 5);
    writer.finish().unwrap();
    let other = folder.path().join("other.mcap");
    write_file(&other, 10, 5);
    let [a, b] = [&path, &other].map(|path| Recording::open(path).unwrap());
    assert!(diff(&a, &b, 0.0).unwrap().bit_equal);
}

#[test]
fn what_cannot_be_written_is_said_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let message = |path: &Path, header: &Header| Writer::create(path, header).err().unwrap().to_string();

    let missing = folder.path().join("none/run.mcap");
    let error = message(&missing, &header(1));
    assert!(error.contains("none/run.mcap") && error.contains("does not exist"), "{error}");
    let error = message(folder.path(), &header(1));
    assert!(error.contains("it is a folder"), "{error}");

    let path = folder.path().join("run.mcap");
    let twice = Header { scalar_names: vec!["a [m]".into(), "a [s]".into()], ..header(1) };
    assert!(message(&path, &twice).contains("the scalar name `a` is used twice"));
    assert!(message(&path, &Header { dt: f64::NAN, ..header(1) }).contains("time step NaN"));
    assert!(message(&path, &header(usize::MAX)).contains("beyond the limit"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing may be left behind");

    let mut writer = Writer::create(&path, &header(3)).unwrap();
    let error = writer.write_frame(0.0, 0, &[1.0]).unwrap_err().to_string();
    assert!(error.contains("the state has 1 numbers, the header says 3"), "{error}");
    let error = writer.write_scalars(0.0, &[1.0]).unwrap_err().to_string();
    assert!(error.contains("the row of scalars has 1 numbers, the header says 2"), "{error}");
    let error = message(&path, &header(3));
    assert!(error.contains("another process is writing it"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_device_or_a_socket_is_never_replaced_by_a_file() {
    // A link in a folder of our own, so that a mistake costs the link and not the device.
    let folder = tempfile::tempdir().unwrap();
    let [link, socket] = ["null", "socket"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [link, socket] {
        let before = fs::symlink_metadata(&path).unwrap().file_type();
        let record = Writer::create(&path, &header(1)).map(|_| ()).unwrap_err().to_string();
        let table = atomic_write(&path, |_| Ok(())).unwrap_err().to_string();
        for error in [record, table] {
            assert!(error.contains("must not be replaced by a file"), "{error}");
        }
        assert_eq!(fs::symlink_metadata(&path).unwrap().file_type(), before);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing may be left behind");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_leaves_the_name_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    std::os::unix::fs::symlink("/dev/full", folder.path().join("run.mcap.part")).unwrap();
    let error = Writer::create(&path, &header(3)).err().unwrap().to_string();
    assert!(error.contains("run.mcap.part") && error.contains("no space left on the disk"), "{error}");
    let error =
        atomic_write(&path, |out| Ok(std::io::Write::write_all(out, b"text")?)).unwrap_err().to_string();
    assert!(error.contains("run.mcap") && error.contains("no space left on the disk"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_failed_write_keeps_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    atomic_write(&path, |out| Ok(std::io::Write::write_all(out, b"old")?)).unwrap();
    let result = atomic_write(&path, |out| {
        std::io::Write::write_all(out, b"new")?;
        Err(std::io::Error::other("the pump broke").into())
    });
    assert!(result.unwrap_err().to_string().contains("table.csv`: the pump broke"));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_is_not_a_recording_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mcap");
    let message = || Recording::open(&path).unwrap_err().to_string();
    assert!(message().contains("x.mcap`: no such file"), "{}", message());
    for bytes in [&b""[..], b"hello", b"\x89PNG\r\n\x1a\n"] {
        fs::write(&path, bytes).unwrap();
        assert!(message().contains("is not a recording"), "{}", message());
    }
    let mut foreign = mcap::WriteOptions::new().profile("ros2").library("someone");
    foreign = foreign.compression(None);
    foreign.create(fs::File::create(&path).unwrap()).unwrap().finish().unwrap();
    assert!(message().contains("profile `ros2`, written by `someone`"), "{}", message());
    let error = Recording::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("it is a folder"), "{error}");
}

#[test]
fn tables_hold_every_digit_and_quote_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let header = Header { state_len: 4, scalar_names: vec!["energy, total [J]".into()], ..Header::default() };
    let mut writer = Writer::create(&path, &header).unwrap();
    writer.write_scalars(0.0, &[0.1 + 0.2]).unwrap();
    writer.write_scalars(0.5, &[f64::INFINITY]).unwrap();
    writer.write_frame(0.0, 0, &[1.0, -0.0, 1e-300, 7.0]).unwrap();
    writer.write_frame(0.5, 1, &[f64::NAN, 1.0 / 3.0, 1e22, 7.0]).unwrap();
    writer.finish().unwrap();
    let recording = Recording::open(&path).unwrap();

    let mut table = Vec::new();
    csv::write_scalars(&recording, &mut table).unwrap();
    let expected = "time [s],\"energy, total [J]\"\n0.0,0.30000000000000004\n0.5,NaN\n";
    assert_eq!(String::from_utf8(table).unwrap(), expected);
}

#[test]
fn a_difference_is_found_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, frames: &[[f64; 2]]| {
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path, &Header { state_len: 2, ..Header::default() }).unwrap();
        for (i, frame) in frames.iter().enumerate() {
            writer.write_frame(i as f64 * 0.5, i as u64, frame).unwrap();
        }
        writer.finish().unwrap();
        Recording::open(&path).unwrap()
    };
    let a = write("a", &[[0.0, f64::NAN], [1.0, 100.0], [2.0, 200.0]]);
    let same = diff(&a, &a, 0.0).unwrap();
    assert!(same.bit_equal && same.agrees() && same.worst_absolute.is_none());

    let b = write("b", &[[-0.0, f64::NAN], [1.0, 101.0], [2.5, 200.0]]);
    let report = diff(&a, &b, 0.0).unwrap();
    assert!(!report.bit_equal && !report.agrees());
    assert_eq!((report.first_different_frame, report.first_time_mismatch), (Some(1), None));
    let worst = report.worst_absolute.unwrap();
    assert_eq!((worst.amount, worst.frame, worst.time, worst.index), (1.0, 1, 0.5, 1));
    let worst = report.worst_relative.unwrap();
    assert_eq!((worst.amount, worst.frame, worst.index, worst.a, worst.b), (0.2, 2, 0, 2.0, 2.5));
    assert_eq!(diff(&a, &b, 0.02).unwrap().first_different_frame, Some(2));
    assert!(diff(&a, &b, 0.25).unwrap().agrees());

    let c = write("c", &[[0.0, 1.0]]);
    let report = diff(&a, &c, 1.0).unwrap();
    assert_eq!((report.frame_counts, report.worst_absolute.unwrap().amount), ([3, 1], f64::INFINITY));
    assert!(!report.agrees());

    let path = folder.path().join("d");
    Writer::create(&path, &Header::default()).unwrap().finish().unwrap();
    let error = diff(&a, &Recording::open(&path).unwrap(), 0.0).unwrap_err().to_string();
    assert!(error.contains("states of 2 numbers") && error.contains("cannot be compared"), "{error}");
}

#[test]
fn states_with_robots_from_older_files_are_refused() {
    let plain = Layout { nq: 3, nv: 3, particles: 1, points: 1, ..Layout::default() };
    let robots = Layout { robot_q: 2, robot_v: 2, actuators: 1, ..plain };
    let from = |layout: &Layout, older_format| Header {
        state_len: State::packed_len(layout),
        older_format,
        ..Header::default()
    };
    assert_eq!(from(&plain, Some(1)).check_states(&plain), Ok(()));
    assert_eq!(from(&robots, None).check_states(&robots), Ok(()));
    let reason = from(&robots, Some(1)).check_states(&robots).unwrap_err();
    assert!(reason.contains("recording format 1") && reason.contains("anew"), "{reason}");
    assert!(from(&plain, None).check_states(&robots).unwrap_err().contains("states of"));
}
