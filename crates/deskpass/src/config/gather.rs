//! Reads every source, weakest first.

use super::keys::find;
use super::layers::Layers;
use super::origin::Origin;
use super::raw::RawSetting;
use super::sources::{Override, Sources};
use super::{environment, file, nearest};

/// Reads every source.
pub(super) fn gather(sources: &Sources<'_>) -> Layers {
    let mut layers = Layers::default();
    file::read(sources, &mut layers);
    environment::read(sources, &mut layers);
    for given in &sources.overrides {
        set_from_flag(&mut layers, given);
    }
    layers
}

fn set_from_flag(layers: &mut Layers, given: &Override) {
    let origin = Origin::Flag(given.flag);
    match find(given.key) {
        Some(key) => layers.set(key, RawSetting::Untyped(given.value.clone()), origin),
        None => layers.add_problem(nearest::unknown_key(given.key, &origin)),
    }
}
