//! QR codes in responses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::http::error::ApiError;

/// The QR code of a text: a PNG in Base64.
pub(crate) fn png_base64(text: &str) -> Result<String, ApiError> {
    let png = deskpass_qrcode::png(text).map_err(|error| ApiError::unexpected(&error))?;
    Ok(STANDARD.encode(png))
}
