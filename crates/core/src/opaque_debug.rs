//! `Debug` for types that hold a secret.

/// Implements `Debug` for types that hold a secret: it prints only the name of the type.
#[macro_export]
macro_rules! opaque_debug {
    ($($name:ident),+) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )+};
}
