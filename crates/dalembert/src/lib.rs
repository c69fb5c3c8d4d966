//! dalembert: mechanical systems of different kinds in one scene.
#![allow(non_snake_case)]

pub mod solve;
