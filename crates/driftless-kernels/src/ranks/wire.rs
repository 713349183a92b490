//! Bytes between ranks: one function a type says its parts in order, and both ways follow it.

/// Numbers and text on their way to other ranks, or from one.
#[derive(Debug)]
pub struct Wire<'a> {
    sent: Vec<u8>,
    /// What is left to be read, where numbers come in.
    coming: Option<&'a [u8]>,
    broken: Option<&'static str>,
}

/// Something that ranks tell each other.
pub trait Message: Sized {
    /// Passes all its parts on, in order; on the way in they are replaced by those that come.
    fn pass(&mut self, wire: &mut Wire);

    /// Passes many, of which the other side does not know how many.
    fn pass_all(all: &mut Vec<Self>, wire: &mut Wire)
    where
        Self: Default,
    {
        let count = wire.length(all.len(), 0);
        all.resize_with(count, Self::default);
        for one in all {
            // A count that is wrong must not take hours.
            if wire.broken.is_some() {
                return;
            }
            one.pass(wire);
        }
    }
}

impl<'a> Wire<'a> {
    /// Takes what is to be sent.
    pub fn sending() -> Self {
        Self { sent: Vec::new(), coming: None, broken: None }
    }

    /// Gives what was sent.
    pub fn receiving(bytes: &'a [u8]) -> Self {
        Self { sent: Vec::new(), coming: Some(bytes), broken: None }
    }

    /// All that was taken.
    pub fn into_bytes(self) -> Vec<u8> {
        self.sent
    }

    /// Whether all that was sent was read, and nothing was missing.
    pub fn end(&self) -> Result<(), &'static str> {
        match (self.broken, self.coming) {
            (Some(what), _) => Err(what),
            (None, Some([_, ..])) => Err("too much"),
            _ => Ok(()),
        }
    }

    /// Passes a number of bytes that both sides know.
    fn bytes(&mut self, bytes: &mut [u8]) {
        let Some(coming) = &mut self.coming else {
            self.sent.extend_from_slice(bytes);
            return;
        };
        match coming.split_at_checked(bytes.len()) {
            Some((own, rest)) => {
                bytes.copy_from_slice(own);
                *coming = rest;
            }
            None => self.broken = Some("too little"),
        }
    }

    /// How many follow, of so many bytes at least, so that nobody takes memory for what does not come.
    fn length(&mut self, own: usize, each: usize) -> usize {
        let mut count = own as u64;
        count.pass(self);
        let room = self.coming.map_or(u64::MAX, |coming| (coming.len() / each.max(1)) as u64);
        if self.broken.is_none() && count <= room {
            return count as usize;
        }
        self.broken = Some("too little");
        0
    }
}

/// Numbers as bytes, the least first; many of them at once.
macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Message for $number {
            fn pass(&mut self, wire: &mut Wire) {
                let mut bytes = self.to_le_bytes();
                wire.bytes(&mut bytes);
                *self = Self::from_le_bytes(bytes);
            }

            fn pass_all(all: &mut Vec<Self>, wire: &mut Wire) {
                const SIZE: usize = size_of::<$number>();
                let count = wire.length(all.len(), SIZE);
                let Some(coming) = wire.coming else {
                    let from = wire.sent.len();
                    wire.sent.resize(from + count * SIZE, 0);
                    let places = wire.sent[from..].as_chunks_mut::<SIZE>().0;
                    places.iter_mut().zip(all).for_each(|(place, number)| *place = number.to_le_bytes());
                    return;
                };
                let (own, rest) = coming.split_at(count * SIZE);
                all.clear();
                all.extend(own.as_chunks::<SIZE>().0.iter().map(|bytes| Self::from_le_bytes(*bytes)));
                wire.coming = Some(rest);
            }
        }
    )*};
}

numbers!(u8, u32, u64, f32, f64);

impl<T: Message> Message for &mut T {
    fn pass(&mut self, wire: &mut Wire) {
        (**self).pass(wire);
    }
}

impl Message for usize {
    fn pass(&mut self, wire: &mut Wire) {
        let mut number = *self as u64;
        number.pass(wire);
        *self = number as usize;
    }
}

impl Message for bool {
    fn pass(&mut self, wire: &mut Wire) {
        let mut number = u8::from(*self);
        number.pass(wire);
        *self = number != 0;
    }
}

impl Message for String {
    fn pass(&mut self, wire: &mut Wire) {
        let mut bytes = std::mem::take(self).into_bytes();
        bytes.pass(wire);
        *self = String::from_utf8_lossy(&bytes).into_owned();
    }
}

impl<T: Message + Default> Message for Vec<T> {
    fn pass(&mut self, wire: &mut Wire) {
        T::pass_all(self, wire);
    }
}

impl<T: Message + Default> Message for Option<T> {
    fn pass(&mut self, wire: &mut Wire) {
        let mut is_some = self.is_some();
        is_some.pass(wire);
        if !is_some {
            *self = None;
            return;
        }
        self.get_or_insert_default().pass(wire);
    }
}

impl<T: Message, const N: usize> Message for [T; N] {
    fn pass(&mut self, wire: &mut Wire) {
        for one in self {
            one.pass(wire);
        }
    }
}

impl<A: Message, B: Message> Message for (A, B) {
    fn pass(&mut self, wire: &mut Wire) {
        self.0.pass(wire);
        self.1.pass(wire);
    }
}

impl<A: Message, B: Message, C: Message> Message for (A, B, C) {
    fn pass(&mut self, wire: &mut Wire) {
        self.0.pass(wire);
        self.1.pass(wire);
        self.2.pass(wire);
    }
}
