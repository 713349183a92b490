//! Stacks of images, and a camera that takes one at some steps.

/// The numbers of a stack of images.
#[derive(Clone, Debug, PartialEq)]
pub enum Pixels {
    /// 0..=255, as cameras give them.
    Bytes(Vec<u8>),
    /// Any range, for images that were processed (noise added, say).
    Floats(Vec<f32>),
}

impl Pixels {
    /// How many numbers.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(values) => values.len(),
            Self::Floats(values) => values.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number `i` as a float.
    pub fn get(&self, i: usize) -> f32 {
        match self {
            Self::Bytes(values) => f32::from(values[i]),
            Self::Floats(values) => values[i],
        }
    }
}

/// A stack of equally large images, row-major, channels last: [T, height, width, channels].
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
    /// 1 grey or depth, 3 RGB, 4 RGB + depth.
    pub channels: usize,
    /// The numbers, image after image.
    pub pixels: Pixels,
}

impl Images {
    /// Numbers in one image.
    pub fn stride(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// The images from `first` on.
    pub(super) fn from(self, first: usize) -> Self {
        let at = (first * self.stride()).min(self.pixels.len());
        let pixels = match self.pixels {
            Pixels::Bytes(values) => Pixels::Bytes(values[at..].to_vec()),
            Pixels::Floats(values) => Pixels::Floats(values[at..].to_vec()),
        };
        Self { pixels, ..self }
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.pixels.len().checked_div(self.stride()).unwrap_or(0)
    }

    /// True if there is no image.
    pub fn is_empty(&self) -> bool {
        self.pixels.is_empty()
    }
}

/// A camera beside other sensors: an image a step, where there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// T images; what a step without one holds means nothing.
    pub images: Images,
    /// Whether there is an image, T.
    pub known: Vec<bool>,
}

impl Camera {
    /// The images that there are; nothing if there are none.
    pub fn taken(&self) -> Option<Images> {
        let stride = self.images.stride();
        let all = self.known.iter().enumerate().filter(|(_, known)| **known);
        let numbers = all.flat_map(|(t, _)| t * stride..(t + 1) * stride);
        let pixels = match &self.images.pixels {
            Pixels::Bytes(bytes) => Pixels::Bytes(numbers.map(|i| bytes[i]).collect()),
            Pixels::Floats(floats) => Pixels::Floats(numbers.map(|i| floats[i]).collect()),
        };
        (!pixels.is_empty()).then_some(Images { pixels, ..self.images })
    }
}
