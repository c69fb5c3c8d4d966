//! The commands, one file each: what it takes (`Args`) and what it does (`command`).

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod examples;
pub(crate) mod export;
pub(crate) mod info;
mod intersections;
pub(crate) mod man;
mod mesh_info;
pub(crate) mod plot;
pub(crate) mod render;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod schema;
mod seeing;
pub(crate) mod view;
