//! Pieces of furniture, built from boxes and upright cylinders.
//!
//! A model stands with its back on the line y = 0, centred on x = 0, and faces +y; where it goes
//! is decided in [`mod@super::furnish`].

use super::models;
use super::shape::{Footprint, Rect};
use crate::random::Random;

/// What a piece's surface is; what it looks like is decided in [`super::materials`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "plain words for materials")]
pub enum Finish {
    Wood,
    Paint,
    White,
    Fabric,
    Linen,
    Metal,
    Leaves,
    Clay,
    Lampshade,
    Books,
    Screen,
    Stone,
}

/// One solid of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// What it covers on the plan.
    pub footprint: Footprint,
    /// Height of its underside above the floor, in metres.
    pub bottom: f64,
    /// Height of its top.
    pub top: f64,
    /// Its surface.
    pub finish: Finish,
}

/// A kind of furniture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "plain words for furniture")]
pub enum ItemKind {
    Bed,
    Sofa,
    Armchair,
    Table,
    DiningSet,
    Chair,
    Cupboard,
    Shelf,
    Desk,
    Plant,
    Lamp,
    Television,
    Counter,
    Refrigerator,
    Bathtub,
    Basin,
    Toilet,
    Crates,
    Toys,
}

impl ItemKind {
    /// True if it stands in the middle of a room rather than with its back to a wall.
    pub fn is_free_standing(self) -> bool {
        matches!(self, Self::DiningSet | Self::Table | Self::Chair | Self::Toys)
    }
}

/// A piece of furniture in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// The smallest rectangle around all its pieces.
    pub bounds: Rect,
    /// What it is made of.
    pub pieces: Vec<Piece>,
    /// Which of a few colours it has, 0..4.
    pub tint: u8,
}

impl Item {
    /// A model of the given kind with random proportions.
    pub fn model(kind: ItemKind, random: &mut Random) -> Self {
        let pieces = models::build(kind, random);
        let bounds = around(&pieces);
        Self { kind, bounds, pieces, tint: random.below(4) as u8 }
    }

    /// The model turned by quarter turns (counter-clockwise) about the origin, then moved.
    pub fn placed(mut self, at: [f64; 2], quarters: usize) -> Self {
        let turned = |[x, y]: [f64; 2]| match quarters % 4 {
            0 => [x + at[0], y + at[1]],
            1 => [at[0] - y, x + at[1]],
            2 => [at[0] - x, at[1] - y],
            _ => [y + at[0], at[1] - x],
        };
        for piece in &mut self.pieces {
            piece.footprint = match piece.footprint {
                Footprint::Box(rect) => {
                    let (a, b) = (turned(rect.min), turned(rect.max));
                    let pick = |f: fn(f64, f64) -> f64| [f(a[0], b[0]), f(a[1], b[1])];
                    Footprint::Box(Rect::new(pick(f64::min), pick(f64::max)))
                }
                Footprint::Disc { centre, radius } => Footprint::Disc { centre: turned(centre), radius },
            };
        }
        self.bounds = around(&self.pieces);
        self
    }
}

fn around(pieces: &[Piece]) -> Rect {
    let empty = Rect::new([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    pieces.iter().map(|piece| piece.footprint.bounds()).fold(empty, |all, one| {
        Rect::new(
            [all.min[0].min(one.min[0]), all.min[1].min(one.min[1])],
            [all.max[0].max(one.max[0]), all.max[1].max(one.max[1])],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ItemKind; 19] = [
        ItemKind::Bed,
        ItemKind::Sofa,
        ItemKind::Armchair,
        ItemKind::Table,
        ItemKind::DiningSet,
        ItemKind::Chair,
        ItemKind::Cupboard,
        ItemKind::Shelf,
        ItemKind::Desk,
        ItemKind::Plant,
        ItemKind::Lamp,
        ItemKind::Television,
        ItemKind::Counter,
        ItemKind::Refrigerator,
        ItemKind::Bathtub,
        ItemKind::Basin,
        ItemKind::Toilet,
        ItemKind::Crates,
        ItemKind::Toys,
    ];

    #[test]
    fn models_are_solid_and_stand_against_their_wall() {
        let mut random = Random::new(2);
        for kind in KINDS.into_iter().cycle().take(1900) {
            let model = Item::model(kind, &mut random);
            for piece in &model.pieces {
                let [w, d] = piece.footprint.bounds().size();
                assert!(w > 0.0 && d > 0.0 && piece.top > piece.bottom && piece.bottom >= 0.0, "{model:?}");
            }
            assert!(kind.is_free_standing() || model.bounds.min[1] >= -1e-9, "{kind:?} is in the wall");
            assert!(model.pieces.iter().any(|piece| piece.bottom < 0.1), "{kind:?} floats");
        }
    }

    #[test]
    fn four_quarter_turns_lead_back() {
        let model = Item::model(ItemKind::Desk, &mut Random::new(1));
        let back = (0..4).fold(model.clone(), |item, _| item.placed([0.0, 0.0], 1));
        assert_eq!(model, back);
        let size = model.bounds.size();
        let turned = model.placed([3.0, 4.0], 1).bounds;
        assert!((turned.size()[0] - size[1]).abs() < 1e-12 && (turned.max[0] - 3.0).abs() < 1e-12);
    }
}
