//! What a command writes must not be what it reads.

use std::fs;
use std::path::{Path, PathBuf};

use crate::exit::{Failure, Outcome};

/// Refuses `output` where it is one of the files that are read, under whatever name: relative or absolute, through a
/// symbolic link, or as another hard link. The same goes for `<output>.part`, under which a file grows.
pub(crate) fn not_in_place<P: AsRef<Path>>(output: &Path, inputs: impl IntoIterator<Item = P>) -> Outcome {
    let mut part = output.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    for input in inputs {
        let input = input.as_ref();
        if same_file(output, input) || same_file(&part, input) {
            let (output, input) = (output.display(), input.display());
            let reason = match output.to_string() == input.to_string() {
                true => "it is what is read".to_owned(),
                false => format!("it is the same file as `{input}`, which is read"),
            };
            return Err(Failure::Io(format!(
                "cannot write `{output}`: {reason}; give the output another name"
            )));
        }
    }
    Ok(())
}

/// Whether both names lead to one file that exists.
fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        matches!((fs::metadata(a), fs::metadata(b)), (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
    }
    #[cfg(not(unix))]
    {
        matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
    }
}
