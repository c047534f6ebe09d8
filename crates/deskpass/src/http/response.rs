//! The responses of handlers: the envelope, error bodies, redirects, pictures.

pub(crate) mod describe;
pub(crate) mod envelope;
pub(crate) mod error_body;
pub(crate) mod landing;
pub(crate) mod login_result;
pub(crate) mod qr_picture;
pub(crate) mod redirect;
pub(crate) mod schema;
pub(crate) mod set_cookie;
