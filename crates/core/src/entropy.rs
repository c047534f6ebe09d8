//! The source of random bytes.

/// An error: the operating system returned no random bytes, so no secret can be generated.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the operating system returned no random bytes")]
pub struct NoEntropy;

/// A source of random bytes, passed to all code that generates secrets.
#[derive(Clone, Copy, Debug)]
pub struct Entropy(fn(&mut [u8]) -> Result<(), NoEntropy>);

impl Entropy {
    /// The operating system's generator.
    #[must_use]
    pub fn system() -> Self {
        Self(from_system)
    }

    /// Another generator, for example a generator that fails.
    #[must_use]
    pub const fn from_fn(fill: fn(&mut [u8]) -> Result<(), NoEntropy>) -> Self {
        Self(fill)
    }

    /// Returns `N` fresh random bytes.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], NoEntropy> {
        self.several_bytes().map(|[bytes]| bytes)
    }

    /// Returns `M` times `N` fresh random bytes. One call of the operating system takes less time than several.
    pub fn several_bytes<const N: usize, const M: usize>(&self) -> Result<[[u8; N]; M], NoEntropy> {
        let mut bytes = [[0; N]; M];
        (self.0)(bytes.as_flattened_mut())?;
        Ok(bytes)
    }
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads random bytes from the operating system")]
fn from_system(bytes: &mut [u8]) -> Result<(), NoEntropy> {
    getrandom::fill(bytes).map_err(|_| NoEntropy)
}
