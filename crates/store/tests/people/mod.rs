//! What the platform says about people, on the embedded database and on a real PostgreSQL with two nodes.

mod checks;
mod chores;
mod events;
mod holders;
mod leaving;
mod plans;
mod renaming;
mod scene;
mod watch;
