//! Compares QR codes with those of another encoder, and pictures with their definition, pixel by pixel.

use std::io::{Cursor, Read as _};
use std::iter::once;

use fastrand::Rng;
use flate2::read::ZlibDecoder;
use png::{BitDepth, ColorType};
use qrcodegen::{Mask, QrCode, QrCodeEcc, QrSegment, Version};

use crate::modules::Modules;
use crate::row_codes::RowCodes;
use crate::template::Template;
use crate::{TextTooLong, picture};

/// The modules of a code, of which it is known whether each is dark.
fn modules(side: usize, dark: &[bool]) -> Modules {
    let is_dark = |x: usize, y: usize| x.checked_sub(4).is_some_and(|x| x < side && dark[y * side + x]);
    let byte = |at: usize, y: usize| (at * 8..at * 8 + 8).fold(0_u8, |byte, x| (byte << 1) | u8::from(is_dark(x, y)));
    let bytes = (0..side).flat_map(|y| (0..(side + 8).div_ceil(8)).map(move |at| byte(at, y)));
    Modules::new(side, bytes.collect())
}

/// The rows of pixels, as PNG defines them for one bit per pixel and without filters: a module is six by six pixels,
/// and everything around the code is light.
fn defined_rows(side: usize, dark: &[bool]) -> Vec<Vec<u8>> {
    let module_at = |pixel: usize| (pixel / 6).checked_sub(4).filter(|module| *module < side);
    let is_light = |x: usize, y: usize| module_at(x).zip(module_at(y)).is_none_or(|(x, y)| !dark[y * side + x]);
    let pixels = (side + 8) * 6;
    let byte = |at: usize, y: usize| (at * 8..at * 8 + 8).fold(0_u8, |byte, x| (byte << 1) | u8::from(is_light(x, y)));
    (0..pixels).map(|y| (0..pixels.div_ceil(8)).map(|at| byte(at, y)).collect()).collect()
}

/// What a PNG with these chunks only has in its `IDAT`, decompressed; its checksum is checked.
fn filtered_rows(file: &[u8]) -> Vec<u8> {
    let mut rows = Vec::new();
    ZlibDecoder::new(&file[41..file.len() - 16]).read_to_end(&mut rows).unwrap();
    rows
}

#[test]
fn every_pixel_has_the_colour_of_its_module() {
    let mut random = Rng::with_seed(24);
    for (version, percent) in (1..=40).flat_map(|version| [0, 50, 100].map(|percent| (version, percent))) {
        let side = 17 + 4 * version;
        let dark: Vec<_> = (0..side * side).map(|_| random.u8(..100) < percent).collect();
        let file = picture::png(&modules(side, &dark), &RowCodes::new(side));
        let defined = defined_rows(side, &dark);
        let with_filters: Vec<u8> = defined.iter().flat_map(|row| once(&0).chain(row)).copied().collect();
        assert!(filtered_rows(&file) == with_filters, "version {version}, {percent} % dark");

        // Another decoder reads it, too, and checks the chunks.
        let mut reader = png::Decoder::new(Cursor::new(&file)).read_info().unwrap();
        let info = reader.info();
        assert_eq!((info.color_type, info.bit_depth), (ColorType::Grayscale, BitDepth::One));
        assert_eq!(info.size(), (u32::try_from(defined.len()).unwrap(), u32::try_from(defined.len()).unwrap()));
        let mut rows = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut rows).unwrap();
        reader.finish().unwrap();
        assert!(rows == defined.concat(), "version {version}, {percent} % dark");
    }
}

/// The modules of a text's QR code, by the other encoder.
fn encoded_elsewhere(text: &str) -> Modules {
    let (segments, mask) = ([QrSegment::make_bytes(text.as_bytes())], Some(Mask::new(0)));
    let code = QrCode::encode_segments_advanced(&segments, QrCodeEcc::Low, Version::MIN, Version::MAX, mask, true);
    let code = code.unwrap();
    let places = (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (x, y)));
    let dark: Vec<_> = places.map(|(x, y)| code.get_module(x, y)).collect();
    modules(usize::try_from(code.size()).unwrap(), &dark)
}

/// Every version and every level that occurs.
#[test]
fn every_module_is_that_of_another_encoder() {
    let mut random = Rng::with_seed(24);
    for bytes in (0..=400).chain((401..2953).step_by(23)).chain([2953]) {
        let text: String = (0..bytes).map(|_| char::from(random.u8(b' '..=b'~'))).collect();
        assert!(Template::for_text(bytes).unwrap().draw(&text) == encoded_elsewhere(&text), "{bytes} bytes");
    }
}

#[test]
fn the_picture_of_a_link_is_small() {
    let link: String = (b'!'..=b'~').cycle().step_by(7).take(293).map(char::from).collect();
    let bytes = crate::png(&link).unwrap().len();
    assert!(bytes <= 1500, "{bytes}");
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    assert!(crate::png(&"x".repeat(2953)).is_ok());
    assert_eq!(crate::png(&"x".repeat(2954)), Err(TextTooLong));
}
