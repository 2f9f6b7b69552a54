//! Pictures of strangers: shown for what they are, cut, made smaller and written in another format, by the crate `image`. What is written
//! holds the picture and nothing else. The struct of a command is its contract, so that this file and `picture` are all there is.

mod picture;
#[cfg(test)]
mod tests;

use std::path::Path;

use hutch_guest::{Call, Changed, Command, Failure, InputFile, One, Reads, Row, Writes};
use hutch_guest::{failure::INVALID_VALUE, storage::STATE_UNAVAILABLE, value::invalid};
use picture::{Crop, IMAGE_INVALID, IMAGE_TOO_LARGE, Picture};

/// Bytes of one file.
const FILE_BYTES_MAX: usize = 32 << 20;

/// A file with a picture, and which metadata is in it beside that.
#[derive(Row)]
struct Shown {
    file: String,
    format: String,
    width: u32,
    height: u32,
    transparency: bool,
    bytes: usize,
    metadata: Vec<String>,
}

impl Shown {
    fn of(file: String, Picture { image, format, metadata }: Picture, bytes: usize) -> Self {
        let (width, height, transparency) = (image.width(), image.height(), image.color().has_alpha());
        Self { file, format: picture::name(format), width, height, transparency, bytes, metadata }
    }
}

/// Shows what a picture is: its format, its size, and which metadata its file holds, such as exif, where cameras write place and time. The
/// size is that in which it is seen, with the camera as it was held.
#[derive(Command)]
#[command(errors(IMAGE_INVALID, IMAGE_TOO_LARGE))]
#[example("what a picture is", ["samples/flag.ppm"])]
#[example("what is no picture", ["samples/flag.txt"], 2)]
#[example("a folder of the machine must be granted", ["data/photo.jpg"], 20)]
struct Show {
    /// the picture, such as data/photo.jpg where the call grants the folder data, or - for standard input; at most 32 MiB
    #[arg(positional)]
    file: InputFile,
}

impl Reads for Show {
    type State = ();
    type Answer = One<Shown>;

    fn run(self, (): &(), _: &Call) -> Result<One<Shown>, Failure> {
        let bytes = self.file.read(FILE_BYTES_MAX)?;
        Ok(One(Shown::of(self.file.path().to_owned(), picture::decoded(&bytes)?, bytes.len())))
    }
}

/// Writes a picture into the folder state, in place of a file of that name, in the format that the name says: png, jpg, gif, webp or bmp. It
/// is cut, then made smaller, never larger; no metadata comes along, and a photograph stands as the camera was held.
#[derive(Command)]
#[command(write, idempotent, errors(IMAGE_INVALID, IMAGE_TOO_LARGE, INVALID_VALUE, STATE_UNAVAILABLE))]
#[example("in another format", ["samples/flag.ppm", "flag.png"])]
#[example("no wider than 6", ["samples/flag.ppm", "small.webp", "--width", "6"])]
#[example("a part of it", ["samples/flag.ppm", "corner.gif", "--crop", "4x3+0+1"])]
#[example("see what would be written", ["samples/flag.ppm", "flag.jpg", "--quality", "60", "--dry-run"])]
#[example("a part that is not there", ["samples/flag.ppm", "corner.png", "--crop", "4x3+100+1"], 2)]
#[example("a format that is not written", ["samples/flag.ppm", "flag.tiff"], 2)]
struct Write {
    /// the picture, such as data/photo.jpg where the call grants the folder data, or - for standard input; at most 32 MiB
    #[arg(positional)]
    file: InputFile,
    /// what to call the file, such as photo-small.jpg: letters, digits, points, dashes and underscores; as the picture is called when it is not
    /// given, with png for a format that is not written
    #[arg(positional, min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    to: Option<String>,
    /// the part to take, WIDTHxHEIGHT+LEFT+TOP in pixels, such as 800x600+100+50
    crop: Option<Crop>,
    /// pixels that it is wide at most
    #[arg(minimum = 1, maximum = 16384, default = "16384")]
    width: u32,
    /// pixels that it is high at most
    #[arg(minimum = 1, maximum = 16384, default = "16384")]
    height: u32,
    /// of jpg, from 1, small, to 100, close to the picture
    #[arg(minimum = 1, maximum = 100, default = "85")]
    quality: u32,
}

impl Writes for Write {
    type State = ();
    type Row = Shown;

    fn run(self, (): &mut (), _: &Call) -> Result<Changed<Shown>, Failure> {
        let path = Path::new(self.file.path());
        let named = if picture::written(path).is_some() { path.to_owned() } else { path.with_extension("png") };
        let to = self.to.unwrap_or_else(|| named.file_name().unwrap_or_default().display().to_string());
        let wrong = || invalid("to", &to, "a name that ends in .png, .jpg, .gif, .webp or .bmp");
        let format = picture::written(Path::new(&to)).ok_or_else(wrong)?;
        let mut image = picture::decoded(&self.file.read(FILE_BYTES_MAX)?)?.image;
        if let Some(crop) = self.crop {
            image = crop.of(&image)?;
        }
        image = picture::within(image, self.width, self.height);
        let bytes = picture::encoded(&image, format, self.quality)?;
        let written = Picture { image, format, metadata: Vec::new() };
        let written = Shown::of(format!("state/{to}"), written, bytes.len());
        Ok(Changed::yes(written).with_file(to, bytes))
    }
}

hutch_guest::application! {
    /// Shows pictures, cuts them, makes them smaller and writes them in other formats
    static IMAGES: () = "images";
    commands: [Show, Write],
    package: "../../../../packages/images",
    skills: ["images-usage"],
}

hutch_guest::main!(IMAGES);
