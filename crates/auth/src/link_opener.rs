//! What opened a link of a QR code.

/// What opened the link of a QR code on a phone, as far as its browser reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkOpener {
    /// No page of another site: the app after a scan, the user, or a page of this service.
    NoOtherPage,
    /// A page of another site.
    OtherPage,
    /// Unknown: the browser reports too little, as older ones do, or names the platform, whose page anyone can open.
    Unknown,
}

impl LinkOpener {
    /// The worse of two reports about one visit: a page of another site, else unknown.
    #[must_use]
    pub const fn or_worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::OtherPage, _) | (_, Self::OtherPage) => Self::OtherPage,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::NoOtherPage, Self::NoOtherPage) => Self::NoOtherPage,
        }
    }
}
