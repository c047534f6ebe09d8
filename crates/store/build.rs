//! Builds again when a migration is added: the compiler knows the embedded files, but not that there is another one.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
