//! Measures what looking costs: encoding a frame, and steps beside a slow page.
//! Teaches that the simulation never waits for a page.
//! Run: cargo run --release -p dalembert-viewer --example viewer_cost

fn main() -> Result<(), dalembert_viewer::ViewerError> {
    println!("{}", dalembert_viewer::bench::viewer_cost()?);
    Ok(())
}
