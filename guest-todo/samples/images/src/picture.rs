//! A picture: out of bytes, changed, into bytes. Knows no command line.

use std::fmt;
use std::io::Cursor;
use std::path::Path;

use hutch_guest::calendar::Expected;
use hutch_guest::{Failure, value::invalid};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{FilterType, overlay};
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, Rgba, RgbaImage};

/// Bytes of the points of one picture. To change it and write it takes up to four times this.
const POINTS_BYTES_MAX: u64 = 48 << 20;
/// Points of a picture that is made smaller with fractions of them, each of 16 bytes.
const FINE_POINTS_MAX: u64 = 4 << 20;
/// Points of one side.
const SIDE_MAX: u32 = 16_384;

hutch_guest::codes! {
    pub(crate) IMAGE_INVALID = 2: "the file is no picture, or a broken one", "give a png, jpg, gif, webp, bmp or ppm file that is whole";
    pub(crate) IMAGE_TOO_LARGE = 2: "the picture has more points than fit", "give one of at most 16384 points a side and 48 MiB in all";
}

/// A picture as it is seen, and what its file says beside it.
pub(crate) struct Picture {
    pub(crate) image: DynamicImage,
    pub(crate) format: ImageFormat,
    pub(crate) metadata: Vec<String>,
}

/// WIDTHxHEIGHT+LEFT+TOP.
#[derive(Clone, Copy)]
pub(crate) struct Crop([u32; 4]);

fn told(error: ImageError) -> Failure {
    let code = if matches!(error, ImageError::Limits(_)) { IMAGE_TOO_LARGE } else { IMAGE_INVALID };
    Failure::new(code, error.to_string())
}

/// What a format is called: png, jpeg, gif, webp, bmp or pnm.
pub(crate) fn name(format: ImageFormat) -> String {
    format!("{format:?}").to_lowercase()
}

/// The format to write that the name of a file says.
pub(crate) fn written(file: &Path) -> Option<ImageFormat> {
    let format = ImageFormat::from_path(file).ok()?;
    let written = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP, ImageFormat::Bmp];
    written.contains(&format).then_some(format)
}

/// The picture in a file, of an animation the first one. How large it is says its head, before anything is unpacked.
pub(crate) fn decoded(bytes: &[u8]) -> Result<Picture, Failure> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| told(error.into()))?;
    let start = String::from_utf8_lossy(bytes.get(..60).unwrap_or(bytes));
    let unknown = || Failure::new(IMAGE_INVALID, format!("it begins with {start:?}, as no picture does"));
    let format = reader.format().ok_or_else(unknown)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX);
    limits.max_image_height = Some(SIDE_MAX);
    limits.max_alloc = Some(2 * POINTS_BYTES_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(told)?;
    let ((width, height), size) = (decoder.dimensions(), decoder.total_bytes());
    if size > POINTS_BYTES_MAX || width.max(height) > SIDE_MAX {
        return Err(Failure::new(IMAGE_TOO_LARGE, format!("it is {width} by {height}, which takes {size} bytes")));
    }
    let orientation = decoder.orientation().map_err(told)?;
    let parts = [("exif", decoder.exif_metadata()), ("icc", decoder.icc_profile()), ("xmp", decoder.xmp_metadata())];
    let metadata =
        parts.into_iter().filter(|(_, part)| matches!(part, Ok(Some(_)))).map(|(name, _)| name.to_owned()).collect();
    let mut image = DynamicImage::from_decoder(decoder).map_err(told)?;
    image.apply_orientation(orientation);
    Ok(Picture { image, format, metadata })
}

/// The picture within so many points; none becomes larger. A large one is taken together by whole numbers, which needs no second copy.
pub(crate) fn within(image: DynamicImage, width: u32, height: u32) -> DynamicImage {
    let fits = image.width() <= width && image.height() <= height;
    match u64::from(image.width()) * u64::from(image.height()) {
        _ if fits => image,
        ..FINE_POINTS_MAX => image.resize(width, height, FilterType::CatmullRom),
        _ => image.thumbnail(width, height),
    }
}

/// The bytes of a file with this picture alone. What shines through is white where a format has no way to say so.
pub(crate) fn encoded(image: &DynamicImage, format: ImageFormat, quality: u32) -> Result<Vec<u8>, Failure> {
    let mut bytes = Cursor::new(Vec::new());
    let done = match format {
        ImageFormat::Jpeg => {
            let flat = if image.color().has_alpha() {
                let mut white = RgbaImage::from_pixel(image.width(), image.height(), Rgba([255; 4]));
                overlay(&mut white, &image.to_rgba8(), 0, 0);
                DynamicImage::from(white).to_rgb8()
            } else {
                image.to_rgb8()
            };
            let quality = u8::try_from(quality).unwrap_or(100);
            JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&flat)
        }
        ImageFormat::Png => image.write_to(&mut bytes, format),
        _ => DynamicImage::from(image.to_rgba8()).write_to(&mut bytes, format),
    };
    done.map_err(told)?;
    Ok(bytes.into_inner())
}

impl Crop {
    fn parse(text: &str) -> Result<Self, Expected> {
        let numbers: Vec<Option<u32>> = text.split(['x', '+']).map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [Some(width @ 1..), Some(height @ 1..), Some(left), Some(top)] => Ok(Self([width, height, left, top])),
            _ => Err("WIDTHxHEIGHT+LEFT+TOP, such as 800x600+100+50"),
        }
    }

    pub(crate) fn of(self, image: &DynamicImage) -> Result<DynamicImage, Failure> {
        let Self([width, height, left, top]) = self;
        let inside = |at: u32, length: u32, all: u32| at.checked_add(length).is_some_and(|end| end <= all);
        if !inside(left, width, image.width()) || !inside(top, height, image.height()) {
            let expected = format!("a part of {} by {} points", image.width(), image.height());
            return Err(invalid("--crop", &self.to_string(), &expected));
        }
        Ok(image.crop_imm(left, top, width, height))
    }
}

impl fmt::Display for Crop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([width, height, left, top]) = self;
        write!(f, "{width}x{height}+{left}+{top}")
    }
}

hutch_guest::text_value!(Crop, max_length = 40, pattern = r"^[0-9]+x[0-9]+\+[0-9]+\+[0-9]+$");
