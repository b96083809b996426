//! The lives of gradients as a picture: a lane for each worker, the server's versions below, and from every read to its step the lag in versions
//! and in seconds. SVG, for papers and pages; it needs nothing else, and follows the reader's light or dark theme.

use super::number::number;
use crate::cluster::{Fate, Gradient, Happening, Incident};
use crate::kernel::{Span, Time};
use std::fmt::Write;

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Lives<'a> {
    /// What stands above it.
    pub title: String,
    /// The gradients, in the order in which they ended.
    pub gradients: &'a [Gradient],
    /// What failed.
    pub incidents: &'a [Incident],
    /// The name of every worker.
    pub workers: Vec<String>,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
}

const LEFT: f64 = 96.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 66.0;
const LANE: f64 = 44.0;
const BAR: f64 = 16.0;
/// Of the thinner bar of what a gradient waits for once it has arrived.
const THIN: f64 = 6.0;
const BELOW: f64 = 74.0;
/// A character of a label, roughly.
const LETTER: f64 = 5.6;

/// The parts of a life, each with its class in the style below; the first three are the worker's.
const PARTS: [&str; 7] = ["download", "compute", "upload", "outage", "queue", "hold", "service"];

/// Colours that people with any colour vision tell apart (Okabe and Ito, 2008).
const STYLE: &str = "
text{font:11px system-ui,sans-serif;fill:#1b1b1b}.title{font-size:14px;font-weight:600}.small{font-size:9.5px}.on{fill:#fff}
.ground{fill:#fff}.lane,.axis{stroke:#8a8a8a;stroke-width:1;fill:none}.grid{stroke:#e3e3e3;stroke-width:1}
.read{stroke:#8a8a8a;stroke-width:.8;stroke-dasharray:2 2;fill:none}.apply{stroke:#1b1b1b;stroke-width:.9;fill:none}
.vain{stroke:#b00020;stroke-width:1.2;fill:none}.head{fill:#1b1b1b}.down{fill:#b8b8b8}
.download{fill:#56b4e9}.compute{fill:#0072b2}.upload{fill:#009e73}.queue{fill:#e69f00}.service{fill:#d55e00}.hold{fill:#cc79a7}.outage{fill:#7a7a7a}
rect.download,rect.compute,rect.upload{stroke:#fff;stroke-width:.7}
@media(prefers-color-scheme:dark){text{fill:#e8e8e8}.ground{fill:#161616}.grid{stroke:#333}.apply{stroke:#e8e8e8}.head{fill:#e8e8e8}.down{fill:#555}
.vain{stroke:#ff6b81}}
";

/// The picture, so many pixels wide.
pub fn life(lives: &Lives, width: f64) -> String {
    let canvas = Canvas { lives, width, server: TOP + LANE * lives.workers.len() as f64 + 26.0 };
    let height = canvas.server + BELOW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
         <path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <text class=\"title\" x=\"12\" y=\"22\">{}</text>\n",
        escape(&lives.title),
        escape(&lives.title)
    );
    svg += &canvas.legend();
    svg += &canvas.axis();
    svg += &canvas.lanes();
    lives.gradients.iter().for_each(|gradient| svg += &canvas.gradient(gradient));
    svg += &canvas.versions();
    svg + "</svg>\n"
}

/// What a reader of XML would take for markup, as text.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

struct Canvas<'a> {
    lives: &'a Lives<'a>,
    width: f64,
    /// Where the server's line is.
    server: f64,
}

impl Canvas<'_> {
    fn x(&self, at: Time) -> f64 {
        let (from, until) = (self.lives.from.seconds(), self.lives.until.seconds());
        let share = ((at.seconds() - from) / (until - from).max(1e-9)).clamp(0.0, 1.0);
        LEFT + share * (self.width - LEFT - RIGHT)
    }

    fn lane(&self, worker: u32) -> f64 {
        TOP + LANE * f64::from(worker)
    }

    fn is_step(&self, gradient: &Gradient) -> bool {
        gradient.fate == Fate::Applied && gradient.ended <= self.lives.until
    }

    fn legend(&self) -> String {
        let mut text = String::new();
        let mut x = 12.0;
        let met = |part: &&&str| {
            let some =
                |gradient: &Gradient| parts(gradient).iter().any(|(name, span)| *name == **part && *span > Span::ZERO);
            self.lives.gradients.iter().any(some)
        };
        for part in PARTS.iter().filter(met) {
            let _ = write!(text, "<rect class=\"{part}\" x=\"{x}\" y=\"34\" width=\"12\" height=\"10\"/>");
            let _ = writeln!(text, "<text x=\"{}\" y=\"43\">{part}</text>", x + 16.0);
            x += 30.0 + LETTER * part.len() as f64;
        }
        let note = "labels: lag in versions, in seconds; dashed: the version that was read";
        let _ = writeln!(text, "<text class=\"small\" x=\"{}\" y=\"43\">{note}</text>", x + 8.0);
        text
    }

    /// Seconds, at round distances.
    fn axis(&self) -> String {
        let (from, until) = (self.lives.from.seconds(), self.lives.until.seconds());
        let rough = (until - from) / ((self.width - LEFT) / 70.0);
        let power = 10f64.powf(rough.max(1e-9).log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough).unwrap_or(power);
        let bottom = self.server + 30.0;
        let mut text = String::new();
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let mut tick = (from / step).ceil() as u64;
        while tick as f64 * step <= until {
            let seconds = tick as f64 * step;
            if let Some(at) = Time::from_seconds(seconds) {
                let x = self.x(at);
                let _ = write!(
                    text,
                    "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{bottom}\"/>",
                    TOP - 10.0
                );
                let _ = writeln!(
                    text,
                    "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{seconds:.decimals$}</text>",
                    bottom + 15.0
                );
            }
            tick += 1;
        }
        let middle = (LEFT + self.width - RIGHT) / 2.0;
        let _ = writeln!(
            text,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">virtual time, s</text>",
            bottom + 33.0
        );
        text
    }

    /// The lanes with their names, and when workers were down.
    fn lanes(&self) -> String {
        let mut text = String::new();
        let end = self.width - RIGHT;
        for (worker, name) in (0..).zip(&self.lives.workers) {
            let y = self.lane(worker);
            let _ =
                write!(text, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{0}\" y2=\"{0}\"/>", y + LANE - 6.0);
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 12.0,
                escape(name)
            );
            text += &self.downs(worker, y);
        }
        let y = self.server;
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">server</text>", LEFT - 8.0, y + 4.0);
        let _ = writeln!(text, "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y}\" y2=\"{y}\"/>");
        text
    }

    fn downs(&self, worker: u32, y: f64) -> String {
        let mut text = String::new();
        let mut since = None;
        let own = self.lives.incidents.iter().filter(|incident| incident.worker == Some(worker));
        let mut draw = |from: Time, until: Time| {
            let (x, end) = (self.x(from), self.x(until));
            let _ = writeln!(
                text,
                "<rect class=\"down\" x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\"><title>down</title></rect>",
                end - x
            );
        };
        for incident in own {
            match (incident.what, since) {
                (Happening::WorkerDown, None) => since = Some(incident.at),
                (Happening::WorkerBack, Some(from)) => {
                    draw(from, incident.at);
                    since = None;
                }
                _ => {}
            }
        }
        if let Some(from) = since {
            draw(from, self.lives.until);
        }
        text
    }

    /// One gradient: what its worker does for it, what it waits for, and the arrows of its read and its step.
    fn gradient(&self, gradient: &Gradient) -> String {
        let y = self.lane(gradient.worker);
        let mut text = format!("<g><title>{}</title>", escape(&self.story(gradient)));
        let mut at = gradient.read;
        for (place, (part, span)) in parts(gradient).into_iter().enumerate() {
            let (from, until) = (at, at + span);
            at = until;
            if span == Span::ZERO || until < self.lives.from || from > self.lives.until {
                continue;
            }
            let (top, height) = if place < 3 { (y, BAR) } else { (y + BAR + 3.0, THIN) };
            let (x, end) = (self.x(from), self.x(until));
            let wide = (end - x).max(0.5);
            let _ = write!(
                text,
                "<rect class=\"{part}\" x=\"{x:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{height}\"/>"
            );
        }
        text += &self.arrows(gradient, y);
        text + "</g>\n"
    }

    fn arrows(&self, gradient: &Gradient, y: f64) -> String {
        let mut text = String::new();
        if gradient.read >= self.lives.from {
            let x = self.x(gradient.read);
            let _ = write!(text, "<path class=\"read\" d=\"M{x:.1} {}V{}\"/>", self.server, y + BAR);
        }
        if gradient.ended > self.lives.until {
            return text;
        }
        let x = self.x(gradient.ended);
        match gradient.fate {
            Fate::InFlight => return text,
            Fate::Applied | Fate::RolledBack => {
                let _ = write!(
                    text,
                    "<path class=\"apply\" marker-end=\"url(#head)\" d=\"M{x:.1} {}V{}\"/>",
                    y + BAR,
                    self.server - 1.0
                );
            }
            _ => {
                let (top, end) = (y + 3.0, y + BAR - 3.0);
                let _ = write!(
                    text,
                    "<path class=\"vain\" d=\"M{:.1} {top}L{:.1} {end}M{:.1} {end}L{:.1} {top}\"/>",
                    x - 5.0,
                    x + 5.0,
                    x - 5.0,
                    x + 5.0
                );
            }
        }
        // Inside its bar if there is room, else above.
        let label = label(gradient);
        let x = self.x(gradient.arrived.min(gradient.ended));
        let room = x - self.x(gradient.read.max(self.lives.from)) - 4.0;
        let wide = LETTER * label.chars().count() as f64;
        if room < wide / 3.0 {
            // It would lie over those of others; a pointer shows it.
            return text;
        }
        let (class, top) = if room >= wide { ("on", y + 12.0) } else { ("small", y - 2.0) };
        let _ =
            write!(text, "<text class=\"{class}\" x=\"{:.1}\" y=\"{top}\" text-anchor=\"end\">{label}</text>", x - 3.0);
        text
    }

    /// What a pointer on it shows.
    fn story(&self, gradient: &Gradient) -> String {
        let worker = self.lives.workers.get(gradient.worker as usize).map_or("", String::as_str);
        let spent: Vec<String> = parts(gradient)
            .iter()
            .filter(|(_, span)| *span > Span::ZERO)
            .map(|(part, span)| format!("{part} {} s", number(span.seconds())))
            .collect();
        format!(
            "{worker}: read version {} at {} s; {} at version {}, {} s: lag {} versions, {} s ({})",
            gradient.version_read,
            number(gradient.read.seconds()),
            gradient.fate.name().replace('_', " "),
            gradient.version_applied,
            number(gradient.ended.seconds()),
            gradient.lag_versions(),
            number(gradient.lag().seconds()),
            spent.join(", ")
        )
    }

    /// The versions after each step, as far as there is room.
    fn versions(&self) -> String {
        let mut text = String::new();
        let mut free = LEFT;
        for gradient in self.lives.gradients.iter().filter(|gradient| self.is_step(gradient)) {
            let x = self.x(gradient.ended);
            let _ = write!(text, "<circle class=\"head\" cx=\"{x:.1}\" cy=\"{}\" r=\"2\"/>", self.server);
            let version = (gradient.version_applied + 1).to_string();
            let half = LETTER * version.len() as f64 / 2.0 + 1.0;
            if x - half >= free {
                let _ = writeln!(
                    text,
                    "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">v{version}</text>",
                    self.server + 15.0
                );
                free = x + half + 6.0;
            }
        }
        text
    }
}

/// Versions and seconds, or what came of it.
fn label(gradient: &Gradient) -> String {
    match gradient.fate {
        Fate::Applied | Fate::RolledBack | Fate::InFlight => {
            format!("{} v, {} s", gradient.lag_versions(), number(gradient.lag().seconds()))
        }
        other => other.name().replace('_', " "),
    }
}

/// The parts of a gradient's life in the order in which they are drawn. What it waits for before its worker begins is drawn with the rest.
pub(super) fn parts(gradient: &Gradient) -> [(&'static str, Span); 7] {
    let causes = gradient.causes;
    let spans =
        [causes.download, causes.compute, causes.upload, causes.outage, causes.queue, causes.hold, causes.service];
    std::array::from_fn(|place| (PARTS[place], spans[place]))
}
