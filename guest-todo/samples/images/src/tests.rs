//! The application as its callers see it, with files that are made here. Paths are those of the package, as in a run of the host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use hutch_guest::testing::Harness;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use serde_json::{Value, json};

use super::*;

const FORMATS: [ImageFormat; 5] =
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP, ImageFormat::Bmp];

fn images() -> Harness<()> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/images")).unwrap();
    Harness::new(&IMAGES)
}

/// Red on the left, blue on the right, 16 by 8.
fn halves() -> DynamicImage {
    RgbImage::from_fn(16, 8, |x, _| if x < 8 { Rgb([250, 10, 10]) } else { Rgb([10, 10, 250]) }).into()
}

/// A JPEG with a block of EXIF that says how the camera was held, and where.
fn photo(orientation: u8) -> Vec<u8> {
    let jpeg = picture::encoded(&halves(), ImageFormat::Jpeg, 95).unwrap();
    let tiff =
        [&b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"[..], &[orientation, 0, 0, 0], b"\0\0\0\0at home"]
            .concat();
    let length = u16::try_from(tiff.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], b"\xff\xe1", &length, &tiff, &jpeg[2..]].concat()
}

/// What a call on these bytes comes to. The file has a name of its own for each test.
fn on(name: &str, bytes: &[u8], before: &[&str], after: &[&str]) -> (Harness<()>, Value) {
    let images = images();
    let file = std::env::temp_dir().join(format!("hutch-images-{name}-{}", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let args = [before, &[file.to_str().unwrap()], after].concat();
    let reply = images.call(&args, std::io::empty());
    std::fs::remove_file(&file).unwrap();
    (images, serde_json::from_str(&reply.stdout).unwrap())
}

fn code(bytes: &[u8]) -> Option<&'static str> {
    picture::decoded(bytes).err().map(|failure| failure.code.code)
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    images().contract("schemas/commands.json");
}

#[test]
fn every_example_ends_as_it_says() {
    images().examples();
}

#[test]
fn every_format_is_read_and_written() {
    for format in FORMATS {
        let bytes = picture::encoded(&halves(), format, 90).unwrap();
        let read = picture::decoded(&bytes).unwrap();
        assert_eq!((read.format, read.image.width(), read.image.height()), (format, 16, 8));
        let (left, right) = (read.image.to_rgb8()[(2, 4)], read.image.to_rgb8()[(13, 4)]);
        assert!(left[0] > 200 && left[2] < 60 && right[2] > 200 && right[0] < 60, "{format:?}: {left:?} {right:?}");
        // What is written is the same wherever it is.
        assert_eq!(picture::encoded(&halves(), format, 90).unwrap(), bytes);
    }
}

#[test]
fn a_photograph_stands_upright_and_says_nothing_more() {
    let (_, shown) = on("upright", &photo(6), &["show"], &["--fields", "width,height,metadata,format"]);
    assert_eq!(shown["items"], json!([{"format": "jpeg", "width": 8, "height": 16, "metadata": ["exif"]}]));
    for to in ["plain.jpg", "plain.png", "plain.webp"] {
        let (images, written) = on(to, &photo(6), &["write"], &[to]);
        assert_eq!((&written["items"][0]["width"], &written["items"][0]["height"]), (&json!(8), &json!(16)));
        let file = images.file(to).unwrap();
        assert!(
            !file.windows(7).any(|part| part == b"at home")
                && !file.windows(4).any(|part| part.eq_ignore_ascii_case(b"exif"))
        );
        assert_eq!(picture::decoded(&file).unwrap().metadata, Vec::<String>::new());
        let top = picture::decoded(&file).unwrap().image.to_rgb8()[(4, 2)];
        assert!(top[0] > 200, "{to}: the left side is above now: {top:?}");
    }
}

#[test]
fn it_is_cut_and_then_made_smaller_and_never_larger() {
    let png = picture::encoded(&halves(), ImageFormat::Png, 1).unwrap();
    for (options, size) in [
        (&["--width", "4"][..], (4, 2)),
        (&["--height", "2", "--width", "12"], (4, 2)),
        (&["--width", "100"], (16, 8)),
        (&["--crop", "8x8+8+0"], (8, 8)),
        (&["--crop", "8x8+8+0", "--width", "2"], (2, 2)),
        (&["--crop", "16x1+0+7", "--width", "1"], (1, 1)),
    ] {
        let (_, written) = on("smaller", &png, &["write"], &[&["x.png"], options].concat());
        let item = &written["items"][0];
        assert_eq!((item["width"].as_u64(), item["height"].as_u64()), (Some(size.0), Some(size.1)), "{options:?}");
    }
    for crop in
        ["0x1+0+0", "17x1+0+0", "1x1+16+0", "1x1+4294967295+0", "1x1", "1x1+-1+0", "1x1+0+0+0", "99999999999x1+0+0"]
    {
        let (images, refused) = on("outside", &png, &["write"], &["x.png", "--crop", crop]);
        assert_eq!((&refused["error"]["code"], images.file("x.png")), (&json!("INVALID_VALUE"), None), "{crop}");
    }
    let large = RgbImage::from_pixel(4096, 1100, Rgb([1, 2, 3])).into();
    let small = picture::within(large, 100, 100);
    assert_eq!((small.width(), small.height(), small.to_rgb8()[(5, 5)]), (100, 27, Rgb([1, 2, 3])));
}

#[test]
fn what_shines_through_is_white_in_a_jpeg() {
    let clear: DynamicImage = RgbaImage::from_pixel(8, 8, Rgba([0, 0, 0, 0])).into();
    let jpeg = picture::encoded(&clear, ImageFormat::Jpeg, 90).unwrap();
    assert_eq!(picture::decoded(&jpeg).unwrap().image.to_rgb8()[(4, 4)], Rgb([255; 3]));
    let png = picture::encoded(&clear, ImageFormat::Png, 90).unwrap();
    assert_eq!(picture::decoded(&png).unwrap().image.to_rgba8()[(4, 4)], Rgba([0; 4]));
}

#[test]
fn a_picture_that_would_not_fit_is_refused_by_its_head() {
    // A PNG of 50 bytes that says it is as large as one can be, or just too large for the points of it.
    for (width, height) in [(0x7fff_ffff_u32, 0x7fff_ffff_u32), (16_385, 1), (16_384, 16_384)] {
        let mut png = picture::encoded(&halves(), ImageFormat::Png, 1).unwrap();
        png.splice(16..24, [width.to_be_bytes(), height.to_be_bytes()].concat());
        let sum = crc(&png[12..29]).to_be_bytes();
        png.splice(29..33, sum);
        assert_eq!(code(&png), Some("IMAGE_TOO_LARGE"), "{width} by {height}");
    }
    assert_eq!(code(b"P3 16384 16384 255\n1 2 3"), Some("IMAGE_TOO_LARGE"));
    let mut bmp = picture::encoded(&halves(), ImageFormat::Bmp, 1).unwrap();
    bmp.splice(18..22, 16_000_u32.to_le_bytes());
    bmp.splice(22..26, 16_000_u32.to_le_bytes());
    assert_eq!(code(&bmp), Some("IMAGE_TOO_LARGE"));
}

/// As a PNG has it.
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 })
    };
    !bytes.iter().fold(!0, step)
}

#[test]
fn a_broken_file_is_refused_and_never_a_panic() {
    for bytes in
        [&b""[..], b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP", b"BM", b"P3", b"no picture"]
    {
        assert_eq!(code(bytes), Some("IMAGE_INVALID"), "{bytes:?}");
    }
    for bytes in FORMATS.map(|format| picture::encoded(&halves(), format, 90).unwrap()).into_iter().chain([photo(3)]) {
        for at in 0..bytes.len() {
            let _ = code(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            let _ = code(&flipped);
        }
    }
}

#[test]
fn what_was_shown_can_be_written_at_once() {
    let images = images();
    let shown = images.ok(&["show", "samples/flag.ppm"]).to_string();
    let written = images.batch(&["write", "--json-input"], &shown);
    assert_eq!((&written["items"][0]["file"], &written["items"][0]["width"]), (&json!("state/flag.png"), &json!(12)));
}

#[test]
fn a_name_leads_nowhere_else() {
    let png = picture::encoded(&halves(), ImageFormat::Png, 1).unwrap();
    for to in ["../x.png", "a/b.png", ".png", "x.svg", "xpng", "x.avif", "x.ppm"] {
        let (_, refused) = on("name", &png, &["write"], &[to]);
        assert_eq!(refused["error"]["code"], "INVALID_VALUE", "{to}");
    }
}
