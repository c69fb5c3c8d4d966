//! Opening files that end: a pipe without a writer waits for ever, a device may go on for ever.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a file to read it, unless it is a folder, a pipe, a socket or a device: the error says which.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_file() {
        return File::open(path);
    }
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {}, not a regular file", name(kind))))
}

#[cfg(unix)]
fn name(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name(_: fs::FileType) -> &'static str {
    "a device"
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_what_ends_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        assert!(open(&at("file")).is_ok());
        let refused = |path: &Path| open(path).unwrap_err();
        assert_eq!(refused(folder.path()).kind(), io::ErrorKind::IsADirectory);
        assert_eq!(refused(&at("none")).kind(), io::ErrorKind::NotFound);
        assert_eq!(refused(Path::new("/dev/zero")).to_string(), "it is a device, not a regular file");
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(refused(&at("socket")).to_string(), "it is a socket, not a regular file");
        if std::process::Command::new("mkfifo").arg(at("pipe")).status().is_ok_and(|s| s.success()) {
            assert_eq!(refused(&at("pipe")).to_string(), "it is a pipe, not a regular file");
        }
    }
}
