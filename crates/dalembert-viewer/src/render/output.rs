//! Output: PNG, GIF, and MP4 through ffmpeg.
//!
//! A GIF has 256 colours. They are chosen once for the whole film by median cut: the box of colours with the longest
//! side is cut at its median until there are 255 boxes. An ordered 4 × 4 pattern hides the steps between them, and
//! pixels that did not change are left transparent, which keeps the file small.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::ViewerError;

/// A picture: rows from top to bottom, three bytes (red, green, blue) per pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Width \[pixels\].
    pub width: u32,
    /// Height \[pixels\].
    pub height: u32,
    /// 3 · width · height bytes.
    pub pixels: Vec<u8>,
}

impl Image {
    /// The picture as the bytes of a PNG file.
    pub fn to_png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        // Writing to memory cannot fail for a picture of matching size.
        let done = encoder.write_header().and_then(|mut w| w.write_image_data(&self.pixels));
        debug_assert!(done.is_ok(), "{done:?}");
        bytes
    }

    /// The same with 256 colours and a third of the size; what stands in few pixels keeps its colour less well.
    pub fn to_small_png(&self) -> Vec<u8> {
        let palette = Palette::of(std::slice::from_ref(self));
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(palette.colours.concat());
        encoder.set_compression(png::Compression::High);
        encoder.set_filter(png::Filter::NoFilter);
        // Writing to memory cannot fail for a picture of matching size.
        let done = encoder.write_header().and_then(|mut w| w.write_image_data(&palette.plain_indices(self)));
        debug_assert!(done.is_ok(), "{done:?}");
        bytes
    }
}

/// Refuses a name whose ending stands for no picture or film, and a film that needs `ffmpeg` where there is none.
pub fn check_ending(path: &Path) -> Result<(), ViewerError> {
    let ending = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).unwrap_or_default();
    if ending == "mp4" {
        let null = Stdio::null;
        let found =
            Command::new("ffmpeg").arg("-version").stdin(null()).stdout(null()).stderr(null()).status();
        return found.map(|_| ()).map_err(|_| ViewerError::NoFfmpeg { path: path.to_owned() });
    }
    if ["png", "gif"].contains(&ending.as_str()) {
        return Ok(());
    }
    Err(ViewerError::UnknownEnding { path: path.to_owned(), ending, known: "png, gif, mp4" })
}

/// Writes pictures as a film; the ending of `path` decides: `.png` (the last picture), `.gif` or `.mp4`.
///
/// Pictures are asked for one at a time. MP4 needs the program `ffmpeg`.
pub fn write_film(
    path: &Path,
    fps: f64,
    count: usize,
    mut image: impl FnMut(usize) -> Image,
) -> Result<(), ViewerError> {
    let io = |action: &'static str| {
        let path = path.to_owned();
        move |source| ViewerError::Io { action, path, source }
    };
    if count == 0 {
        return Err(ViewerError::NothingToShow);
    }
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("png") => std::fs::write(path, image(count - 1).to_png()).map_err(io("write")),
        Some("gif") => write_gif(path, fps, count, &mut image),
        Some("mp4") => write_mp4(path, fps, count, &mut image),
        other => Err(ViewerError::UnknownEnding {
            path: path.to_owned(),
            ending: other.unwrap_or_default().into(),
            known: "png, gif, mp4",
        }),
    }
}

fn write_mp4(
    path: &Path,
    fps: f64,
    count: usize,
    image: &mut dyn FnMut(usize) -> Image,
) -> Result<(), ViewerError> {
    let first = image(0);
    let program = "ffmpeg";
    // H.264 with 4:2:0 colours wants even sizes.
    let mut child = Command::new(program)
        .args(["-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"])
        .args(["-s", &format!("{}x{}", first.width, first.height), "-r", &format!("{fps}"), "-i", "-"])
        .args([
            "-vf",
            "pad=ceil(iw/2)*2:ceil(ih/2)*2",
            "-c:v",
            "libx264",
            "-pix_fmt",
            "yuv420p",
            "-crf",
            "18",
        ])
        .args(["-movflags", "+faststart"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|_| ViewerError::NoFfmpeg { path: path.to_owned() })?;
    let mut pipe = child.stdin.take().map(BufWriter::new);
    for i in 0..count {
        let pixels = if i == 0 { first.pixels.clone() } else { image(i).pixels };
        // A broken pipe means that ffmpeg gave up; it says why below.
        if pipe.as_mut().is_none_or(|pipe| pipe.write_all(&pixels).is_err()) {
            break;
        }
    }
    drop(pipe);
    let out = child.wait_with_output().map_err(|source| ViewerError::Io {
        action: "write",
        path: path.to_owned(),
        source,
    })?;
    if out.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    Err(ViewerError::Ffmpeg { path: path.to_owned(), reason })
}

fn write_gif(
    path: &Path,
    fps: f64,
    count: usize,
    image: &mut dyn FnMut(usize) -> Image,
) -> Result<(), ViewerError> {
    let io = |source| ViewerError::Io { action: "write", path: path.to_owned(), source };
    let gif_error = |e: gif::EncodingError| match e {
        gif::EncodingError::Io(source) => io(source),
        other => io(std::io::Error::other(other.to_string())),
    };
    let images: Vec<Image> = (0..count).map(image).collect();
    let (width, height) = (images[0].width, images[0].height);
    let (Ok(w), Ok(h)) = (u16::try_from(width), u16::try_from(height)) else {
        return Err(io(std::io::Error::other("a GIF is at most 65535 pixels wide and high")));
    };
    let palette = Palette::of(&images);
    let file = std::fs::File::create(path).map_err(io)?;
    let mut encoder = gif::Encoder::new(BufWriter::new(file), w, h, &palette.bytes()).map_err(gif_error)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(gif_error)?;
    // Hundredths of a second; what is cut off one picture is given to a later one.
    let at = |i: usize| (100.0 * i as f64 / fps).round();
    let mut before: Vec<u8> = Vec::new();
    for (i, image) in images.iter().enumerate() {
        let indices = palette.indices(image);
        let shown: Vec<u8> = match before.is_empty() {
            true => indices.clone(),
            false => {
                indices.iter().zip(&before).map(|(a, b)| if a == b { TRANSPARENT } else { *a }).collect()
            }
        };
        let frame = gif::Frame {
            width: w,
            height: h,
            delay: (at(i + 1) - at(i)).clamp(2.0, 65535.0) as u16,
            dispose: gif::DisposalMethod::Keep,
            transparent: (i > 0).then_some(TRANSPARENT),
            buffer: shown.into(),
            ..gif::Frame::default()
        };
        encoder.write_frame(&frame).map_err(gif_error)?;
        before = indices;
    }
    Ok(())
}

/// Number of the colour that means "as before".
const TRANSPARENT: u8 = 255;

/// The colours of a film.
struct Palette {
    colours: Vec<[u8; 3]>,
    /// Nearest colour for 6 bits of red, green and blue.
    nearest: Vec<u8>,
}

impl Palette {
    fn of(images: &[Image]) -> Self {
        // Colours to 6 bits with their frequencies, from a sixteenth of the pixels of at most 24 pictures.
        let mut counts: BTreeMap<[u8; 3], u32> = BTreeMap::new();
        for image in images.iter().step_by(images.len().div_ceil(24).max(1)) {
            for p in image.pixels.chunks_exact(3).step_by(16) {
                *counts.entry([p[0] >> 2, p[1] >> 2, p[2] >> 2]).or_default() += 1;
            }
        }
        // Frequencies are softened, or a large background would take all colours.
        let all: Vec<([u8; 3], f32)> = counts.into_iter().map(|(c, n)| (c, (n as f32).powf(0.55))).collect();
        let mut boxes = vec![all];
        while boxes.len() < TRANSPARENT as usize {
            let spread = |b: &Vec<([u8; 3], f32)>| {
                let side = |k: usize| {
                    let values = b.iter().map(|(c, _)| c[k]);
                    values.clone().max().unwrap_or(0) - values.min().unwrap_or(0)
                };
                let axis = (0..3).max_by_key(|k| side(*k)).unwrap_or(0);
                (side(axis), axis)
            };
            let weight = |b: &Vec<([u8; 3], f32)>| b.iter().map(|(_, n)| n).sum::<f32>();
            let score = |b: &Vec<([u8; 3], f32)>| f32::from(spread(b).0) * weight(b).sqrt();
            let Some(widest) =
                (0..boxes.len()).max_by(|a, b| score(&boxes[*a]).total_cmp(&score(&boxes[*b])))
            else {
                break;
            };
            let (side, axis) = spread(&boxes[widest]);
            if side == 0 {
                break;
            }
            let mut cut = boxes.swap_remove(widest);
            cut.sort_by_key(|(c, _)| (c[axis], *c));
            let (half, mut sum) = (0.5 * weight(&cut), 0.0);
            let at = cut.iter().position(|(_, n)| {
                sum += n;
                sum >= half
            });
            let at = at.unwrap_or(0).clamp(1, cut.len() - 1);
            let rest = cut.split_off(at);
            boxes.extend([cut, rest]);
        }
        let mean = |b: &Vec<([u8; 3], f32)>| {
            let total: f32 = b.iter().map(|(_, n)| n).sum();
            std::array::from_fn(|k| {
                let sum: f32 = b.iter().map(|(c, n)| f32::from(c[k]) * n).sum();
                ((sum / total.max(1e-9) + 0.5) * 4.0).min(255.0) as u8
            })
        };
        let colours: Vec<[u8; 3]> = boxes.iter().map(mean).collect();
        let nearest = (0..1usize << 18).map(|i| {
            let c = [i >> 12 & 63, i >> 6 & 63, i & 63].map(|c| 4 * c as i32 + 2);
            let distance =
                |p: &[u8; 3]| -> i32 { (0..3).map(|k| [3, 5, 2][k] * (i32::from(p[k]) - c[k]).pow(2)).sum() };
            colours.iter().enumerate().min_by_key(|(_, p)| distance(p)).map_or(0, |(i, _)| i as u8)
        });
        let nearest = nearest.collect();
        Self { colours, nearest }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.colours.concat();
        bytes.resize(3 * 256, 0);
        bytes
    }

    /// The nearest colours, without a pattern: neighbours stay alike, which packs well.
    fn plain_indices(&self, image: &Image) -> Vec<u8> {
        let index = |p: &[u8]| {
            let c = |k: usize| usize::from(p[k] >> 2);
            self.nearest[c(0) << 12 | c(1) << 6 | c(2)]
        };
        image.pixels.chunks_exact(3).map(index).collect()
    }

    fn indices(&self, image: &Image) -> Vec<u8> {
        const PATTERN: [i32; 16] = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
        let width = image.width as usize;
        let pixel = |(i, p): (usize, &[u8])| {
            let shift = (PATTERN[i / width % 4 * 4 + i % width % 4] - 7) / 3;
            let c = |k: usize| (i32::from(p[k]) + shift).clamp(0, 255) as usize >> 2;
            self.nearest[c(0) << 12 | c(1) << 6 | c(2)]
        };
        image.pixels.chunks_exact(3).enumerate().map(pixel).collect()
    }
}
