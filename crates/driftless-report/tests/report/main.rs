//! Pictures, pages and records as others see them; one program, since linking is most of its build.

mod canvas;
mod pages;
mod path_picture;
mod records;
mod report;
