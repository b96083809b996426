//! Figures as text, as wide as the terminal: bars, lines and shades of characters, in colour where it is wanted.

use super::figures::{Curve, Curves, Drawing, Figure, Grid, Histogram, Joint, Stacked};
use super::number::{figure as number, maybe, percent};
use super::plain_table;
use console::{Color, Style, measure_text_width};

/// How wide a line may be, and whether it may be coloured.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Characters in a line.
    pub width: usize,
    /// Whether colours are wanted.
    pub colour: bool,
}

/// Lines of a histogram, and of a joint picture.
const LINES: usize = 12;
/// Of these, shades from little to much.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Parts of bars: told apart by colour, or by these.
const FILLS: [char; 8] = ['█', '▒', '░', '▓', '#', '=', '+', '.'];
const COLOURS: [Color; 8] = [
    Color::Blue,
    Color::Yellow,
    Color::Green,
    Color::Magenta,
    Color::Cyan,
    Color::Red,
    Color::White,
    Color::Color256(245),
];

impl Terminal {
    fn paint(self, place: usize, text: &str) -> String {
        if self.colour {
            Style::new().force_styling(true).fg(COLOURS[place % COLOURS.len()]).apply_to(text).to_string()
        } else {
            text.to_owned()
        }
    }

    fn bold(self, text: &str) -> String {
        if self.colour { Style::new().force_styling(true).bold().apply_to(text).to_string() } else { text.to_owned() }
    }

    /// What is left of a line beside so many characters.
    fn beside(self, taken: usize) -> usize {
        self.width.saturating_sub(taken).max(8)
    }
}

/// A figure with its title.
pub fn small(figure: &Figure, terminal: Terminal) -> String {
    let lines = match &figure.drawing {
        Drawing::Curves(curves) => self::curves(curves, terminal),
        Drawing::Histogram(histogram) => self::histogram(histogram, terminal),
        Drawing::Joint(joint) => self::joint(joint, terminal),
        Drawing::Stacked(stacked) => self::stacked(stacked, terminal),
        Drawing::Grid(grid) => self::grid(grid),
    };
    let body: String = lines.iter().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("{}\n{body}\n", terminal.bold(&figure.title))
}

/// A bar of a length in characters, to an eighth.
fn bar(length: f64) -> String {
    let eighths = (length * 8.0).round() as usize;
    let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + partial
}

/// The least of 1, 2, 5, 10 … times a power of ten that is at least `width`; of whole numbers at least 1.
fn nice(width: f64, whole: bool) -> f64 {
    let width = if whole { width.max(1.0) } else { width.max(f64::MIN_POSITIVE) };
    let power = 10f64.powf(width.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= width * (1.0 - 1e-9)).unwrap_or(width)
}

/// All classes together, in bars of equal width, and one for what is beyond.
fn histogram(figure: &Histogram, terminal: Terminal) -> Vec<String> {
    let [least, high] = figure.shown;
    let width = nice((high - least) / LINES as f64, figure.whole);
    let low = (least / width).floor() * width;
    let beyond = ((high - low) / width - 1e-9).ceil().max(1.0) as usize;
    let high = low + beyond as f64 * width;
    let mut counts = vec![0.0; beyond + 1];
    for group in &figure.groups {
        for ((lower, upper), count) in group.lower.iter().zip(&group.upper).zip(&group.count) {
            let middle = if figure.whole { *lower } else { (lower + upper) / 2.0 };
            let place = if *lower >= high { beyond } else { (((middle - low) / width) as usize).min(beyond - 1) };
            counts[place] += count;
        }
    }
    let total: f64 = counts.iter().sum();
    let most = counts.iter().copied().fold(0.0, f64::max);
    let label = |place: usize| {
        let from = low + place as f64 * width;
        match (place == beyond, figure.whole && width == 1.0, figure.whole) {
            (true, _, _) => format!("≥ {}", number(high)),
            (_, true, _) => number(from),
            (_, _, true) => format!("{} – {}", number(from), number(from + width - 1.0)),
            _ => format!("{} – {}", number(from), number(from + width)),
        }
    };
    let some = (0..=beyond).filter(|&place| counts[place] > 0.0);
    let line = |place: usize| {
        let length = counts[place] / most * terminal.beside(32) as f64;
        format!("{:>20} {:>7}  {}", label(place), percent(counts[place] / total), terminal.paint(0, &bar(length)))
    };
    some.map(line).collect()
}

/// Versions to the right, seconds up; the darker, the more.
fn joint(figure: &Joint, terminal: Terminal) -> Vec<String> {
    let [low, high] = [0, 1].map(|end| figure.shown.map(|side| side[end]));
    let columns = terminal.beside(14).min(60);
    let mut amounts = vec![vec![0.0; columns]; LINES];
    for cell in &figure.cells {
        // Every character holds the densest of the cells that it lies in.
        let density = cell[4] / (cell[1] - cell[0]) / (cell[3] - cell[2]);
        let span = |from: usize, side: usize, parts: usize| {
            let place = |value: f64| ((value - low[side]) / (high[side] - low[side]) * parts as f64).round() as usize;
            place(cell[from])..place(cell[from + 1]).max(place(cell[from]) + 1).min(parts)
        };
        for row in span(2, 1, LINES) {
            for column in span(0, 0, columns) {
                amounts[row][column] = f64::max(amounts[row][column], density);
            }
        }
    }
    let most = amounts.iter().flatten().copied().fold(0.0, f64::max);
    let least = amounts.iter().flatten().copied().filter(|amount| *amount > 0.0).fold(f64::INFINITY, f64::min);
    let shade = |amount: &f64| match *amount {
        0.0 => SHADES[0],
        amount => SHADES[1 + (3.999 * (amount / least).ln() / (most / least).ln().max(1e-9)) as usize],
    };
    let row = |(place, row): (usize, &Vec<f64>)| {
        let label = match place {
            0 => format!("{} s", number(low[1])),
            last if last == LINES - 1 => format!("{} s", number(high[1])),
            _ => String::new(),
        };
        format!("{label:>12} {}", terminal.paint(0, &row.iter().map(shade).collect::<String>()))
    };
    let mut lines: Vec<String> = amounts.iter().enumerate().rev().map(row).collect();
    let [from, until] = [number(low[0]), format!("{} versions", number(high[0] - 1.0))];
    lines.push(format!("{:13}{from}{until:>gap$}", "", gap = columns.saturating_sub(from.len())));
    lines
}

fn curves(figure: &Curves, terminal: Terminal) -> Vec<String> {
    let longest = figure.curves.iter().map(|curve| curve.name.chars().count()).max().unwrap_or(0).min(28);
    let line = |(place, curve): (usize, &Curve)| {
        let columns = terminal.beside(longest + 26).min(60).min(curve.y.len().max(1));
        let ends = [curve.y.iter().flatten().next(), curve.y.iter().flatten().last()].map(|end| maybe(end.copied()));
        let name: String = curve.name.chars().take(longest).collect();
        format!(
            "{name:<longest$} {:>11} {} {}",
            ends[0],
            terminal.paint(place, &sparks(curve, columns, figure.y.log)),
            ends[1]
        )
    };
    let mut lines: Vec<String> = figure.curves.iter().enumerate().map(line).collect();
    let x = figure.curves.iter().flat_map(|curve| &curve.x);
    let (from, until) = x.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    let log = if figure.y.log { ", heights by factors" } else { "" };
    lines.push(format!("{}: {} to {}{log}", figure.x.label, number(from), number(until)));
    lines
}

/// Means of as many parts of a line as there are columns, as heights.
fn sparks(curve: &Curve, columns: usize, log: bool) -> String {
    let height = |value: f64| if log { value.max(f64::MIN_POSITIVE).ln() } else { value };
    let (first, last) = (curve.x.first().copied().unwrap_or(0.0), curve.x.last().copied().unwrap_or(1.0));
    let mut sums = vec![(0.0, 0.0); columns];
    let few = curve.x.len() <= columns;
    for (place, (x, y)) in curve.x.iter().zip(&curve.y).enumerate() {
        let share = if last > first { (x - first) / (last - first) } else { 0.0 };
        // Few values have a column each, wherever they are.
        let column = if few { place } else { (share * columns as f64) as usize };
        let sum = &mut sums[column.min(columns - 1)];
        if let Some(y) = y {
            *sum = (sum.0 + height(*y), sum.1 + 1.0);
        }
    }
    let heights: Vec<Option<f64>> = sums.iter().map(|(sum, n)| (*n > 0.0).then(|| sum / n)).collect();
    let (low, high) =
        heights.iter().flatten().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)));
    let level = |y: f64| if high > low { LEVELS[((y - low) / (high - low) * 7.999) as usize] } else { LEVELS[3] };
    heights.iter().map(|y| y.map_or(' ', level)).collect()
}

fn stacked(figure: &Stacked, terminal: Terminal) -> Vec<String> {
    let fill = |part: usize| if terminal.colour { '█' } else { FILLS[part % FILLS.len()] };
    let key = |(part, name): (usize, &String)| format!("{} {name}", terminal.paint(part, &fill(part).to_string()));
    let mut keys = vec![String::new()];
    for key in figure.parts.iter().enumerate().map(key) {
        let line = keys.last().map_or(0, |line| measure_text_width(line));
        match keys.last_mut() {
            Some(last) if line == 0 || line + 2 + measure_text_width(&key) <= terminal.width => {
                *last += if line == 0 { "" } else { "  " };
                *last += &key;
            }
            _ => keys.push(key),
        }
    }
    let longest = figure.bars.iter().map(|(_, parts)| parts.iter().sum::<f64>()).fold(0.0, f64::max);
    let names = figure.bars.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
    let columns = terminal.beside(names + 14) as f64;
    let line = |(name, parts): &(String, Vec<f64>)| {
        let (mut drawn, mut sum, mut text) = (0, 0.0, String::new());
        for (part, length) in parts.iter().enumerate() {
            sum += length;
            let until = (sum / longest * columns).round() as usize;
            text += &terminal.paint(part, &fill(part).to_string().repeat(until - drawn));
            drawn = until;
        }
        let name: String = name.chars().take(names).collect();
        format!("{name:<names$} {text} {}", number(sum))
    };
    let mut lines = keys;
    lines.extend(figure.bars.iter().map(line));
    lines.push(figure.x.label.clone());
    lines
}

fn grid(figure: &Grid) -> Vec<String> {
    let corner = format!("{} \\ {}", figure.y.label, figure.x.label);
    let header: Vec<&str> = std::iter::once(&*corner).chain(figure.x.names.iter().map(String::as_str)).collect();
    let rows = figure
        .rows
        .iter()
        .zip(&figure.y.names)
        .map(|(row, name)| std::iter::once(name.clone()).chain(row.iter().map(|value| maybe(*value))).collect());
    plain_table(&header, rows).lines().map(str::to_owned).collect()
}
