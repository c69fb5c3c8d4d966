//! Work without the interpreter's lock, on threads that exist.
//!
//! `os.fork` (and `multiprocessing` with it, where it forks) copies one thread. The threads of the pool that Rayon keeps for
//! the whole process stay behind, and whoever waits for them in the child waits for ever. So a process that was forked
//! works on a pool of its own. Results do not depend on the number of threads, so parent and child have the same bits.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process in which the package was imported: the pool for the whole process has its threads there.
static HOME: OnceLock<u32> = OnceLock::new();
/// A process that was forked, and its pool. Locked only under the interpreter's lock, under which forks happen too, so no
/// child finds it locked.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Remembers the process; called when the package is imported.
pub(crate) fn remember_home() {
    HOME.get_or_init(std::process::id);
}

/// Does `work` without the interpreter's lock.
pub(crate) fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let here = std::process::id();
    if HOME.get() == Some(&here) {
        return Ok(py.detach(work));
    }
    let pool = pool_of(here)?;
    Ok(py.detach(|| pool.install(work)))
}

/// The pool of a process that was forked.
fn pool_of(process: u32) -> PyResult<Arc<ThreadPool>> {
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, pool)) = &*forked
        && *owner == process
    {
        return Ok(pool.clone());
    }
    let cannot = |e| PyOSError::new_err(format!("cannot start threads in this forked process: {e}"));
    let pool = Arc::new(ThreadPoolBuilder::new().build().map_err(cannot)?);
    // The threads of a parent's pool are not here, so nothing may wait for their end.
    std::mem::forget(forked.replace((process, pool.clone())));
    Ok(pool)
}
