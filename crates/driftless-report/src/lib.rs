//! Pictures of worlds, paths and filters.
