//! The program `dalembert`.
fn main() {}
