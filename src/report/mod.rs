//! Results as a person wants to read them.

mod book;
mod cells;
pub mod figures;
mod forecast;
mod histogram;
mod life;
mod number;
mod page;
mod shards;
mod small;
mod summary;
mod svg;
mod timeline;
mod trace;

pub use book::{book, totals};
pub use cells::{cells, choices, comparison, intervals};
pub use forecast::forecast;
pub use life::{Lives, life};
pub use number::{bytes, figure as rounded, number};
pub use page::{Page, Part, page};
pub use shards::shards;
pub use small::{Terminal, small};
pub use summary::{Heading, checks, rejections, summary, trouble};
pub use svg::svg;
pub use timeline::timeline;
pub use trace::trace;

use comfy_table::{CellAlignment, Table, presets};

/// A table without lines, its first column aligned left and the others right.
fn plain_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header).add_rows(rows);
    for (place, column) in table.column_iter_mut().enumerate() {
        let alignment = if place == 0 { CellAlignment::Left } else { CellAlignment::Right };
        column.set_cell_alignment(alignment);
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
