//! Figures as SVG, for papers and slides: drawn by plotters, in colours that people with any colour vision tell apart (Okabe and Ito, 2008).

use super::figures::{Axis, Curves, Drawing, Figure, Grid, Group, Histogram, Joint, Stacked};
use super::number::figure as number;
use crate::error::{Error, Result};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(110, 110, 110),
    RGBColor(60, 60, 60),
];
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The picture, so many pixels wide.
///
/// # Errors
/// If it cannot be drawn.
pub fn svg(figure: &Figure, width: u32) -> Result<String> {
    let height = match &figure.drawing {
        Drawing::Stacked(stacked) => 130 + 44 * stacked.bars.len() as u32,
        Drawing::Grid(grid) => 110 + 34 * grid.rows.len() as u32,
        _ => width * 9 / 16,
    };
    let mut text = String::new();
    let draw = |text: &mut String| -> Drawn {
        let area = SVGBackend::with_string(text, (width, height)).into_drawing_area();
        area.fill(&WHITE)?;
        match &figure.drawing {
            Drawing::Curves(curves) => self::curves(&area, &figure.title, curves)?,
            Drawing::Histogram(histogram) => self::histogram(&area, &figure.title, histogram)?,
            Drawing::Joint(joint) => self::joint(&area, &figure.title, joint)?,
            Drawing::Stacked(stacked) => self::stacked(&area, &figure.title, stacked)?,
            Drawing::Grid(grid) => self::grid(&area, &figure.title, grid)?,
        }
        area.present()?;
        Ok(())
    };
    draw(&mut text).map_err(|error| Error::Broken(format!("{}: {error}", figure.name)))?;
    Ok(text)
}

fn colour(place: usize) -> RGBColor {
    COLOURS[place % COLOURS.len()]
}

/// A range with some room; all of it where there is but one value.
fn room(low: f64, high: f64) -> Range<f64> {
    let margin = if high > low { 0.04 * (high - low) } else { 0.5 * high.abs().max(1e-9) };
    low - margin..high + margin
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high { (0.0, 1.0) } else { (low, high) }
}

/// An axis of a chart: linear or logarithmic, with marks of its own or round ones, with numbers or names.
struct Scale<'a> {
    axis: &'a Axis,
    low: f64,
    high: f64,
}

impl Ranged for Scale<'_> {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, until): (i32, i32)) -> i32 {
        let along = |value: f64| if self.axis.log { value.max(self.low).ln() } else { value };
        let share = (along(*value) - along(self.low)) / (along(self.high) - along(self.low));
        from + (share * f64::from(until - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let inside = |value: &f64| (self.low..=self.high).contains(value);
        if !self.axis.ticks.is_empty() {
            return self.axis.ticks.iter().copied().filter(inside).collect();
        }
        if !self.axis.names.is_empty() {
            return (0..self.axis.names.len()).map(|place| place as f64).collect();
        }
        match self.axis.log {
            true => decades(self.low, self.high).into_iter().filter(inside).collect(),
            false => RangedCoordf64::from(self.low..self.high).key_points(hint),
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

/// Powers of ten between two numbers above 0, about eight at most; of few decades 1, 2 and 5 in each.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let every = ((last - first) / 8).max(1);
    let within: &[f64] = if last - first <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
    powers.flat_map(|power| within.iter().map(move |factor| factor * 10f64.powi(power))).collect()
}

impl ValueFormatter<f64> for Scale<'_> {
    fn format(value: &f64) -> String {
        number(*value)
    }

    fn format_ext(&self, value: &f64) -> String {
        let name = |place: f64| self.axis.names.get(place as usize).cloned().unwrap_or_default();
        if self.axis.names.is_empty() { number(*value) } else { name(*value) }
    }
}

fn curves(area: &Area, title: &str, figure: &Curves) -> Drawn {
    let all = || figure.curves.iter();
    let (left, right) = ends(all().flat_map(|curve| curve.x.iter().copied()));
    let values = || all().flat_map(|curve| [&curve.y, &curve.lower, &curve.upper]).flatten().flatten().copied();
    let (low, high) = ends(values());
    let scale = |axis, range: Range<f64>| Scale { axis, low: range.start, high: range.end };
    let x = if figure.x.log { left * 0.9..right * 1.1 } else { room(left, right) };
    let positive = ends(values().filter(|value| *value > 0.0)).0;
    let y = if figure.y.log { 0.8 * positive..1.25 * high } else { room(low, high) };
    let area = &head(area, title, &keys(all().map(|curve| &*curve.name)))?;
    let mut chart = builder(area, 72).build_cartesian_2d(scale(&figure.x, x), scale(&figure.y, y))?;
    let mut mesh = chart.configure_mesh();
    mesh.label_style((FONT, 12)).axis_desc_style((FONT, 13));
    mesh.light_line_style(TRANSPARENT).x_desc(&*figure.x.label).y_desc(&*figure.y.label).draw()?;
    for (place, curve) in all().enumerate() {
        let colour = colour(place);
        let points = |values: &[Option<f64>]| -> Vec<(f64, f64)> {
            curve.x.iter().zip(values).filter_map(|(x, y)| Some((*x, (*y)?))).collect()
        };
        let (mut band, upper) = (points(&curve.lower), points(&curve.upper));
        band.extend(upper.into_iter().rev());
        if band.len() > 2 {
            chart.draw_series(std::iter::once(Polygon::new(band, colour.mix(0.2))))?;
        }
        let points = points(&curve.y);
        if figure.points || points.len() < 40 {
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
        }
        let line = if figure.points { Vec::new() } else { points };
        chart.draw_series(std::iter::once(PathElement::new(line, colour.stroke_width(2))))?;
    }
    Ok(())
}

/// Whole numbers from 3 until 4 are drawn around 3.
const WHOLE: f64 = 0.5;

/// How wide a letter of a key is, roughly.
const LETTER: i32 = 7;

/// Names with the colours that they have by their places.
fn keys<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(&'a str, RGBColor)> {
    names.enumerate().map(|(place, name)| (name, colour(place))).collect()
}

/// Writes the title and, below it, what each colour is, if there are several; the rest is for the chart.
fn head<'a>(area: &Area<'a>, title: &str, keys: &[(&str, RGBColor)]) -> Drawn<Area<'a>> {
    area.draw(&Text::new(title.to_owned(), (14, 12), (FONT, 17).into_font()))?;
    let (mut x, mut y) = (14, 40);
    let keys = if keys.len() > 1 { keys } else { &[] };
    let right = area.dim_in_pixel().0 as i32;
    for (name, colour) in keys {
        let width = 30 + LETTER * name.chars().count() as i32;
        if x + width > right && x > 14 {
            (x, y) = (14, y + 18);
        }
        area.draw(&Rectangle::new([(x, y), (x + 11, y + 11)], colour.filled()))?;
        area.draw(&Text::new((*name).to_owned(), (x + 16, y), (FONT, 12).into_font()))?;
        x += width;
    }
    Ok(area.split_vertically(if keys.is_empty() { 34 } else { y + 18 }).1)
}

fn builder<'a, 'b>(area: &'b Area<'a>, left: u32) -> ChartBuilder<'b, 'b, SVGBackend<'a>> {
    let mut builder = ChartBuilder::on(area);
    builder.margin(10).margin_right(24).x_label_area_size(44).y_label_area_size(left);
    builder
}

fn histogram(area: &Area, title: &str, figure: &Histogram) -> Drawn {
    let total: f64 = figure.groups.iter().flat_map(|group| &group.count).sum();
    let density = |group: &Group, bin: usize| group.count[bin] / total / (group.upper[bin] - group.lower[bin]);
    let bins = |group: &Group| 0..group.count.len();
    let (_, top) = ends(figure.groups.iter().flat_map(|group| bins(group).map(move |bin| density(group, bin))));
    let aside = if figure.whole { WHOLE } else { 0.0 };
    let [left, right] = figure.shown.map(|end| end - aside);
    let area = &head(area, title, &keys(figure.groups.iter().map(|group| &*group.name)))?;
    let mut chart = builder(area, 72).build_cartesian_2d(left..right, 0.0..top * 1.05)?;
    let per = figure.x.label.trim_start_matches("lag in ").trim_end_matches('s');
    let mut mesh = chart.configure_mesh();
    mesh.label_style((FONT, 12)).axis_desc_style((FONT, 13));
    mesh.light_line_style(TRANSPARENT).disable_x_mesh().x_desc(&*figure.x.label);
    mesh.y_desc(format!("share of gradients per {per}"));
    mesh.x_label_formatter(&|value| number(*value)).y_label_formatter(&|value| number(*value)).draw()?;
    for (place, group) in figure.groups.iter().enumerate() {
        let fill = colour(place).mix(if figure.groups.len() > 1 { 0.45 } else { 0.85 }).filled();
        let inside = bins(group).filter(|&bin| group.lower[bin] - aside < right);
        let bar = |bin: usize| {
            let corner = ((group.upper[bin] - aside).min(right), density(group, bin));
            Rectangle::new([(group.lower[bin] - aside, 0.0), corner], fill)
        };
        chart.draw_series(inside.map(bar))?;
    }
    Ok(())
}

/// From light to dark, by how much of the greatest it is.
fn shade(share: f64) -> RGBColor {
    let t = share.clamp(0.0, 1.0);
    let mix = |light: f64, dark: f64| (light + (dark - light) * t) as u8;
    RGBColor(mix(222.0, 8.0), mix(235.0, 48.0), mix(247.0, 107.0))
}

fn joint(area: &Area, title: &str, figure: &Joint) -> Drawn {
    let [[left, right], [low, high]] = figure.shown;
    let (left, right) = (left - WHOLE, right - WHOLE);
    let most = ends(figure.cells.iter().map(|cell| cell[4])).1;
    let area = &head(area, title, &[])?;
    let mut chart = builder(area, 72).build_cartesian_2d(left..right, low..high)?;
    let mut mesh = chart.configure_mesh();
    mesh.label_style((FONT, 12)).axis_desc_style((FONT, 13));
    mesh.light_line_style(TRANSPARENT).x_desc(&*figure.x.label).y_desc(&*figure.y.label);
    mesh.x_label_formatter(&|value| number(*value)).y_label_formatter(&|value| number(*value)).draw()?;
    let cell = |cell: &[f64; 5]| {
        // Equal factors are equal steps, so that rare cells are seen.
        let share = (cell[4] + 1.0).ln() / (most + 1.0).ln();
        let corner = ((cell[1] - WHOLE).min(right), cell[3].min(high));
        Rectangle::new([(cell[0] - WHOLE, cell[2]), corner], shade(share).filled())
    };
    let inside = figure.cells.iter().filter(|cell| cell[0] - WHOLE < right && cell[2] < high);
    chart.draw_series(inside.map(cell))?;
    let [x, y] = [figure.medians[0] - WHOLE, figure.medians[1]];
    let style = BLACK.mix(0.6).stroke_width(1);
    chart.draw_series(DashedLineSeries::new([(x, low), (x, high)], 5, 4, style))?;
    chart.draw_series(DashedLineSeries::new([(left, y), (right, y)], 5, 4, style))?;
    Ok(())
}

/// The name that stands in the middle between two whole numbers; nothing elsewhere.
fn middle<'a>(value: f64, names: impl Fn(usize) -> Option<&'a String>) -> String {
    let place = value - 0.5;
    let here = place > -1e-6 && (place - place.round()).abs() < 1e-6;
    let name = here.then(|| names(place.round() as usize)).flatten();
    // Not too near to the axis.
    name.map(|name| format!("{name}\u{a0}")).unwrap_or_default()
}

/// Room for the longest of some names, at the left.
fn room_for<'a>(names: impl Iterator<Item = &'a String>) -> u32 {
    24 + LETTER as u32 * names.map(|name| name.chars().count()).max().unwrap_or(0) as u32
}

fn stacked(area: &Area, title: &str, figure: &Stacked) -> Drawn {
    let bars = figure.bars.len();
    let longest = figure.bars.iter().map(|(_, parts)| parts.iter().sum::<f64>()).fold(0.0, f64::max);
    let area = &head(area, title, &keys(figure.parts.iter().map(|part| &**part)))?;
    let mut chart = builder(area, room_for(figure.bars.iter().map(|(name, _)| name)))
        .build_cartesian_2d(0.0..longest * 1.02, 0.0..bars as f64)?;
    let name = |value: &f64| middle(bars as f64 - value, |place| figure.bars.get(place).map(|(name, _)| name));
    let mut mesh = chart.configure_mesh();
    mesh.label_style((FONT, 12)).axis_desc_style((FONT, 13));
    mesh.light_line_style(TRANSPARENT).disable_y_mesh().x_desc(&*figure.x.label);
    mesh.y_labels(2 * bars + 1).set_tick_mark_size(LabelAreaPosition::Left, 0);
    mesh.x_label_formatter(&|value| number(*value)).y_label_formatter(&name).draw()?;
    for part in 0..figure.parts.len() {
        let piece = |(place, (_, parts)): (usize, &(String, Vec<f64>))| {
            let from: f64 = parts[..part].iter().sum();
            let foot = (bars - 1 - place) as f64;
            Rectangle::new([(from, foot + 0.2), (from + parts[part], foot + 0.8)], colour(part).filled())
        };
        chart.draw_series(figure.bars.iter().enumerate().map(piece))?;
    }
    Ok(())
}

fn grid(area: &Area, title: &str, figure: &Grid) -> Drawn {
    let (columns, rows) = (figure.x.names.len(), figure.y.names.len());
    // Nothing has no logarithm: it is as light as the least.
    let drawn = |value: f64| if figure.log { value.ln() } else { value };
    let (low, high) = ends(figure.rows.iter().flatten().flatten().map(|value| drawn(*value)));
    let area = &head(area, title, &[])?;
    let mut chart = builder(area, 20 + room_for(figure.y.names.iter()))
        .build_cartesian_2d(0.0..columns as f64, 0.0..rows as f64)?;
    let mut mesh = chart.configure_mesh();
    mesh.label_style((FONT, 12)).axis_desc_style((FONT, 13));
    mesh.disable_mesh().x_desc(&*figure.x.label).y_desc(&*figure.y.label);
    mesh.x_labels(2 * columns + 1).set_tick_mark_size(LabelAreaPosition::Bottom, 0);
    mesh.y_labels(2 * rows + 1).set_tick_mark_size(LabelAreaPosition::Left, 0);
    let column = |value: &f64| middle(*value, |place| figure.x.names.get(place));
    let row = |value: &f64| middle(rows as f64 - value, |place| figure.y.names.get(place));
    mesh.x_label_formatter(&column).y_label_formatter(&row).draw()?;
    let centred = Pos::new(HPos::Center, VPos::Center);
    let all = figure.rows.iter().enumerate().flat_map(|(row, values)| {
        values.iter().enumerate().filter_map(move |(column, value)| Some((row, column, (*value)?)))
    });
    for (row, column, value) in all {
        let share = if high > low { ((drawn(value) - low) / (high - low)).max(0.0) } else { 0.5 };
        let (left, foot) = (column as f64, (rows - 1 - row) as f64);
        let square = Rectangle::new([(left, foot), (left + 1.0, foot + 1.0)], shade(share).filled());
        chart.draw_series(std::iter::once(square))?;
        let ink = if share > 0.5 { WHITE } else { BLACK };
        let style = (FONT, 13).into_font().color(&ink).pos(centred);
        chart.draw_series(std::iter::once(Text::new(number(value), (left + 0.5, foot + 0.5), style)))?;
    }
    Ok(())
}
