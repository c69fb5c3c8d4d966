//! The program as a user meets it: commands, exit codes, and files that survive a kill.

mod commands;
mod desk;
mod exit_codes;
mod recordings;
