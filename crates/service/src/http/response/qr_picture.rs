//! QR codes in responses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use crate::http::error::ApiError;

/// The QR code of a text: a PNG in base64, as a JSON string. Base64 needs no escaping, and checking each character for it took half as
/// long as drawing the picture.
pub(crate) fn png_base64_json(text: &str) -> Result<Box<RawValue>, ApiError> {
    let png = deskpass_qrcode::png(text).map_err(|error| ApiError::unexpected(&error))?;
    let mut json = String::with_capacity(png.len().div_ceil(3) * 4 + 2);
    json.push('"');
    STANDARD.encode_string(png, &mut json);
    json.push('"');
    RawValue::from_string(json).map_err(|error| ApiError::unexpected(&error))
}
