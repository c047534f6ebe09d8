//! QR codes in responses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::http::error::ApiError;

/// The QR code of a text, as PNG in base64.
pub(crate) fn png_base64(text: &str) -> Result<String, ApiError> {
    deskpass_qrcode::png(text).map(|png| STANDARD.encode(png)).map_err(|error| ApiError::unexpected(&error))
}
