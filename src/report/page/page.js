"use strict";
const report = JSON.parse(document.getElementById("report").textContent);
const charts = new Map();
const COLOURS = 8;

/* Small things. */

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** To five digits, as people read them. */
function say(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(3);
  return String(Number(value.toPrecision(5)));
}

/** A colour of the style, as the theme has it now. */
function ink(name) {
  const probe = make("span", { style: `color: var(--${name})` });
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function faded(colour, alpha) {
  const canvas = make("canvas", { width: 1, height: 1 }).getContext("2d");
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

function chooser(label, options, chosen, onchange) {
  const select = make("select", { onchange: () => onchange(select.selectedIndex) });
  options.forEach((text, place) => select.append(make("option", { value: place, selected: place === chosen }, text)));
  return make("label", {}, label, select);
}

function tableOf(heads, rows) {
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)));
  const cells = (row) => row.map((value) => make("td", {}, typeof value === "string" ? value : say(value)));
  const body = rows.map((row) => make("tr", {}, ...cells(row)));
  return make("div", { class: "scroll", tabindex: 0 }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

/** The values behind a figure; the table is made when it is wanted. */
function valuesOf(heads, rows) {
  const details = make("details", {}, make("summary", {}, "Values"));
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector("table")) details.append(tableOf(heads, rows()));
  });
  return details;
}

/* Charts with axes, by uPlot. */

function axisOf(axis, side) {
  const style = { label: axis.label, stroke: ink("faint"), grid: { stroke: ink("line"), width: 1 }, ticks: { stroke: ink("line") } };
  if (axis.names.length) {
    style.splits = () => axis.names.map((_, place) => place);
    style.values = (_, splits) => splits.map((place) => axis.names[place] ?? "");
  } else if (axis.ticks.length) {
    style.splits = () => axis.ticks;
    style.values = (_, splits) => splits.map(say);
    style.filter = (_, splits) => splits;
  } else if (axis.log) {
    style.splits = (_, __, low, high) => decades(low, high);
    style.filter = (_, splits) => splits;
    style.values = (_, splits) => splits.map(say);
    style.size = 68;
  } else if (side === "y") {
    style.values = (_, splits) => splits.map(say);
    style.size = 68;
  }
  return style;
}

/** Powers of ten between two numbers above 0, about eight at most; of few decades 1, 2 and 5 in each. */
function decades(low, high) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const every = Math.max(1, Math.floor((last - first) / 8));
  const within = last - first <= 3 ? [1, 2, 5] : [1];
  const marks = [];
  for (let power = first; power <= last; power += 1) {
    if (power % every === 0) marks.push(...within.map((factor) => factor * 10 ** power));
  }
  return marks.filter((mark) => mark >= low && mark <= high);
}

/** A chart that fits its place, is redrawn when the theme changes, and whose cursor goes by arrow keys. */
function plot(figure, options, data) {
  const place = make("div", { class: "chart", tabindex: 0, role: "group", "aria-label": `${figure.title}; arrow keys move along it` });
  const size = () => ({ width: Math.max(240, place.clientWidth), height: options.height ?? 300 });
  const draw = () => {
    charts.get(figure.name)?.destroy();
    place.replaceChildren();
    charts.set(figure.name, new uPlot({ ...options.style(), ...size() }, data, place));
  };
  let at = -1;
  place.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const chart = charts.get(figure.name);
    at = Math.min(data[0].length - 1, Math.max(0, at + step));
    chart.setCursor({ left: chart.valToPos(data[0][at], "x"), top: chart.bbox.height / devicePixelRatio / 2 });
  });
  place.draw = draw;
  new ResizeObserver(() => charts.get(figure.name)?.setSize(size())).observe(place);
  return place;
}

/** Lines on common places: where a line has no value, it has a gap. */
function aligned(curves) {
  const x = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const column = (curve, values) => {
    const known = new Map(curve.x.map((at, place) => [at, values[place]]));
    return x.map((at) => known.get(at) ?? null);
  };
  const data = [x];
  for (const curve of curves) {
    data.push(column(curve, curve.y));
    if (curve.lower.length) data.push(column(curve, curve.lower), column(curve, curve.upper));
  }
  return data;
}

function curves(figure) {
  const { x, y, curves, points } = figure.drawing;
  const data = aligned(curves);
  const style = () => {
    const series = [{ label: x.label, value: (_, value) => (value === null ? "–" : x.names[value] ?? say(value)) }];
    const bands = [];
    curves.forEach((curve, place) => {
      const colour = ink(`c${place % COLOURS}`);
      const dots = { show: points || data[0].length < 40, size: points ? 5 : 7, fill: colour };
      const own = series.length;
      series.push({ label: curve.name, stroke: colour, width: points ? 0 : 2, points: dots, spanGaps: true, value: (_, value) => say(value) });
      if (curve.lower.length) {
        series.push({ class: "edge", points: { show: false }, label: "lower" }, { class: "edge", points: { show: false }, label: "upper" });
        bands.push({ series: [own + 2, own + 1], fill: faded(colour, 0.18) });
      }
    });
    const scale = (axis) => ({ time: false, distr: axis.log ? 3 : 1 });
    const range = (_, low, high) => [low - 0.4, high + 0.4];
    const wide = (chart, low, high) => (x.log ? [low * 0.9, high * 1.1] : range(chart, low, high));
    const along = x.names.length || x.log || points ? { ...scale(x), range: wide } : scale(x);
    return { series, bands, scales: { x: along, y: scale(y) }, axes: [axisOf(x, "x"), axisOf(y, "y")], cursor: { focus: { prox: 24 } } };
  };
  const heads = [x.label, ...curves.flatMap((curve) => [curve.name, ...(curve.lower.length ? ["lower", "upper"] : [])])];
  const rows = () => data[0].map((at, place) => [x.names[at] ?? at, ...data.slice(1).map((column) => column[place])]);
  return [plot(figure, { style }, data), valuesOf(heads, rows)];
}

function histogram(figure) {
  const { x, whole, groups } = figure.drawing;
  const aside = whole ? 0.5 : 0;
  const shown = figure.drawing.shown.map((end) => end - aside);
  const total = groups.flatMap((group) => group.count).reduce((sum, count) => sum + count, 0);
  const edges = [...new Set(groups.flatMap((group) => [...group.lower, ...group.upper]))].sort((a, b) => a - b);
  const density = (group) => {
    let bin = 0;
    return edges.map((edge) => {
      while (bin < group.upper.length && group.upper[bin] <= edge) bin += 1;
      const inside = bin < group.lower.length && group.lower[bin] <= edge;
      return inside ? group.count[bin] / total / (group.upper[bin] - group.lower[bin]) : 0;
    });
  };
  const data = [edges.map((edge) => edge - aside), ...groups.map(density)];
  const unit = x.label.replace("lag in ", "").replace(/s$/, "");
  const style = () => ({
    series: [
      { label: x.label, value: (_, value) => say(value === null ? null : value + aside) },
      ...groups.map((group, place) => {
        const colour = ink(`c${place % COLOURS}`);
        const stepped = uPlot.paths.stepped({ align: 1 });
        return { label: group.name, stroke: colour, fill: faded(colour, 0.35), paths: stepped, points: { show: false }, value: (_, value) => say(value) };
      }),
    ],
    scales: { x: { time: false, range: (chart, low, high) => (low === data[0][0] && high === data[0].at(-1) ? shown : [low, high]) }, y: { range: (_, __, high) => [0, high * 1.05 || 1] } },
    axes: [axisOf(x, "x"), axisOf({ label: `share of gradients per ${unit}`, names: [], ticks: [] }, "y")],
  });
  const rows = () => groups.flatMap((group) => group.count.map((count, bin) => [group.name, group.lower[bin], group.upper[bin], count]));
  return [plot(figure, { style }, data), valuesOf(["class", "from", "until", "gradients"], rows)];
}

function joint(figure) {
  const { x, y, cells, medians } = figure.drawing;
  const most = Math.max(...cells.map((cell) => cell[4]));
  // Versions are whole numbers: those from 3 until 4 are drawn around 3.
  const aside = 0.5;
  const [along, up] = [figure.drawing.shown[0].map((end) => end - aside), figure.drawing.shown[1]];
  const data = [along, up];
  const readout = make("output", { class: "readout", "aria-live": "polite" });
  const total = cells.reduce((sum, cell) => sum + cell[4], 0);
  const tell = (chart) => {
    const [at, height] = [chart.posToVal(chart.cursor.left, "x") + aside, chart.posToVal(chart.cursor.top, "y")];
    const inside = (cell) => cell[0] <= at && at < cell[1] && cell[2] <= height && height < cell[3];
    const cell = chart.cursor.left >= 0 ? cells.find(inside) : null;
    const text = (cell) => `${say(cell[0])} to ${say(cell[1])} versions, ${say(cell[2])} to ${say(cell[3])} s: ${cell[4]} gradients, ${say((100 * cell[4]) / total)} %`;
    readout.textContent = cell ? text(cell) : "";
  };
  const style = () => {
    const [low, high, line] = [ink("low"), ink("high"), ink("ink")];
    const paint = (chart) => {
      const { ctx } = chart;
      const { left, top, width, height } = chart.bbox;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, width, height);
      ctx.clip();
      for (const [from, until, bottom, upper, count] of cells) {
        const [x0, x1] = [chart.valToPos(from - aside, "x", true), chart.valToPos(until - aside, "x", true)];
        const [y0, y1] = [chart.valToPos(bottom, "y", true), chart.valToPos(upper, "y", true)];
        const share = Math.log1p(count) / Math.log1p(most);
        ctx.fillStyle = low;
        ctx.fillRect(x0, y1, x1 - x0, y0 - y1);
        ctx.globalAlpha = share;
        ctx.fillStyle = high;
        ctx.fillRect(x0, y1, x1 - x0, y0 - y1);
        ctx.globalAlpha = 1;
      }
      ctx.strokeStyle = line;
      ctx.setLineDash([5, 4]);
      ctx.beginPath();
      const [mx, my] = [chart.valToPos(medians[0] - aside, "x", true), chart.valToPos(medians[1], "y", true)];
      ctx.moveTo(mx, top);
      ctx.lineTo(mx, top + height);
      ctx.moveTo(left, my);
      ctx.lineTo(left + width, my);
      ctx.stroke();
      ctx.restore();
    };
    const fixed = (ends) => ({ time: false, range: () => ends });
    const hidden = { paths: () => null, points: { show: false } };
    return { series: [{}, hidden], scales: { x: fixed(along), y: fixed(up) }, axes: [axisOf(x, "x"), axisOf(y, "y")], legend: { show: false }, cursor: { drag: { x: false } }, hooks: { draw: [paint], setCursor: [tell] } };
  };
  const heads = ["versions from", "until", "seconds from", "until", "gradients"];
  return [plot(figure, { style, height: 340 }, data), readout, valuesOf(heads, () => cells)];
}

/* Bars and maps, by HTML. */

function stacked(figure) {
  const { x, parts, bars } = figure.drawing;
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const longest = Math.max(...bars.map(([, values]) => sum(values)));
  const piece = (value, place) => make("i", { style: `width: ${(100 * value) / longest}%; background: var(--c${place % COLOURS})`, title: `${parts[place]}: ${say(value)}` });
  const label = ([name, values]) => `${name}: ${parts.map((part, place) => `${part} ${say(values[place])}`).join(", ")}`;
  const bar = ([name, values]) => make("div", { class: "bar", style: "display: grid; height: auto; background: none; overflow: visible" }, make("span", {}, name), make("div", { role: "img", "aria-label": label([name, values]) }, ...values.map(piece)), make("span", {}, say(sum(values))));
  const key = (part, place) => make("li", {}, make("i", { style: `background: var(--c${place % COLOURS})` }), part);
  const rows = () => bars.map(([name, values]) => [name, ...values]);
  return [make("ul", { class: "keys" }, ...parts.map(key)), ...bars.map(bar), make("p", {}, x.label), valuesOf(["", ...parts], rows)];
}

function grid(figure) {
  const { x, y, label, log, rows } = figure.drawing;
  const drawn = (value) => (log ? Math.log(value) : value);
  const all = rows.flat().filter((value) => value !== null).map(drawn).filter(Number.isFinite);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const cell = (value) => {
    if (value === null) return make("td", { class: "none" }, "–");
    const share = high > low ? Math.max(0, (drawn(value) - low) / (high - low)) : 0.5;
    const text = share > 0.5 ? "light-dark(#fff, #10151b)" : "var(--ink)";
    return make("td", { style: `background: color-mix(in oklab, var(--high) ${(100 * share).toFixed(1)}%, var(--low)); color: ${text}` }, say(value));
  };
  const head = make("tr", {}, make("th", { scope: "col" }, `${y.label} ↓  ${x.label} →`), ...x.names.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map((row, place) => make("tr", {}, make("th", { scope: "row" }, y.names[place]), ...row.map(cell)));
  const table = make("table", { class: "heat" }, make("caption", { style: "text-align: left" }, label), make("thead", {}, head), make("tbody", {}, ...body));
  return [make("div", { class: "scroll", tabindex: 0 }, table)];
}

const DRAW = { curves, histogram, joint, stacked, grid };

function show(figure, ...before) {
  return make("figure", { id: figure.name }, make("h2", {}, figure.title), make("p", {}, figure.note), ...before, ...DRAW[figure.drawing.kind](figure));
}

/** Puts figures in their place; charts are drawn once they have a width. */
function put(place, nodes) {
  place.querySelectorAll("figure").forEach((old) => {
    charts.get(old.id)?.destroy();
    charts.delete(old.id);
  });
  place.replaceChildren(...nodes);
  drawIn(place);
}

function drawIn(place) {
  place.querySelectorAll(".chart").forEach((chart) => chart.draw());
}

/* A run, or one combination of a sweep. */

function figures(part) {
  const losses = part.figures.filter((figure) => figure.name.startsWith("loss_"));
  const nodes = [];
  for (const figure of part.figures) {
    if (figure === losses[0]) nodes.push(loss(losses));
    else if (!losses.includes(figure)) nodes.push(show(figure));
  }
  put(document.getElementById("figures"), nodes);
}

/** One loss at a time: against time, updates or cost. */
function loss(all) {
  const holder = make("div", { style: "display: contents" });
  const pick = (chosen) => {
    all.forEach((figure) => {
      charts.get(figure.name)?.destroy();
      charts.delete(figure.name);
    });
    const choose = (place) => {
      pick(place);
      drawIn(holder);
      holder.querySelectorAll("button")[place].focus();
    };
    const name = (figure) => figure.name.replace("loss_", "");
    const button = (figure, place) => make("button", { type: "button", "aria-pressed": String(place === chosen), onclick: () => choose(place) }, name(figure));
    const choices = make("div", { class: "choices", role: "group", "aria-label": "against what" }, ...all.map(button));
    holder.replaceChildren(show(all[chosen], choices));
  };
  pick(0);
  return holder;
}

/* A sweep: any figure, along any axis. */

const chosen = { quantity: 0, x: 0, by: 1, fixed: [] };

function numbersOf(labels) {
  const numbers = labels.map(Number);
  return labels.every((label, place) => label.trim() !== "" && Number.isFinite(numbers[place])) ? numbers : null;
}

/** The axis as a figure has it: with numbers if all labels are, and equal factors where they are far apart. */
function sweepAxis(axis) {
  const numbers = numbersOf(axis.labels);
  if (!numbers) return { label: axis.name, log: false, names: axis.labels, ticks: [] };
  const log = Math.min(...numbers) > 0 && Math.max(...numbers) >= 8 * Math.min(...numbers);
  return { label: axis.name, log, names: [], ticks: numbers.length <= 10 ? numbers : [] };
}

/** The combination at these places, or none. */
function cellAt(places) {
  return report.cells.places.findIndex((own) => own.every((place, axis) => place === places[axis]));
}

/** Whether figures that are never below 0 lie so far apart that only factors tell. */
function areWide(values) {
  const known = values.filter((value) => value !== null);
  const least = Math.min(...known.filter((value) => value > 0));
  return known.every((value) => value >= 0) && Math.max(...known) > 1000 * least;
}

function sweepFigures() {
  const { axes, figures, quantities } = report.cells;
  const { quantity, x, by, fixed } = chosen;
  const label = quantities[quantity];
  const numbers = numbersOf(axes[x].labels);
  const value = (at, row) => {
    const places = fixed.slice();
    places[x] = at;
    if (by >= 0) places[by] = row;
    const cell = cellAt(places);
    return (cell >= 0 && figures[cell][quantity]) || [null, null, null];
  };
  const rows = by >= 0 ? axes[by].labels : [label];
  const means = rows.map((_, row) => axes[x].labels.map((_, at) => value(at, row)[0]));
  const log = areWide(means.flat());
  const curve = (name, row) => {
    const values = axes[x].labels.map((_, at) => value(at, row));
    const column = (end) => values.map((triple) => (log && triple[end] <= 0 ? null : triple[end]));
    return { name: by >= 0 ? `${axes[by].name} ${name}` : name, x: numbers ?? axes[x].labels.map((_, at) => at), y: column(0), lower: column(1), upper: column(2) };
  };
  const y = { label, log, names: [], ticks: [] };
  const rest = axes.map((axis, place) => [axis, place]).filter(([, place]) => place !== x && place !== by);
  const where = rest.map(([axis, place]) => `${axis.name} ${axis.labels[fixed[place]]}`).join(", ");
  const note = `Means over repeats, with ${100 * report.level} % intervals as bands${where ? `; ${where}` : ""}.`;
  const lines = { name: "sweep_curves", title: `${label} against ${axes[x].name}`, note, drawing: { kind: "curves", x: sweepAxis(axes[x]), y, curves: rows.map(curve), points: false } };
  if (by < 0) return [lines];
  const names = (axis) => ({ label: axes[axis].name, log: false, names: axes[axis].labels, ticks: [] });
  const map = { kind: "grid", x: names(x), y: names(by), label, log, rows: means };
  return [lines, { name: "sweep_grid", title: `${label} over ${axes[x].name} and ${axes[by].name}`, note: "Means over repeats.", drawing: map }];
}

function sweep() {
  const { axes, quantities } = report.cells;
  const section = document.getElementById("sweep");
  section.hidden = false;
  chosen.quantity = Math.max(0, quantities.indexOf(report.shown));
  chosen.by = axes.length > 1 ? 1 : -1;
  chosen.fixed = axes.map(() => 0);
  const choices = make("div", { class: "choices" });
  const place = make("div", { style: "display: grid; gap: 1rem" });
  const names = axes.map((axis) => axis.name);
  const redraw = (focus) => {
    const rest = axes.map((_, axis) => axis).filter((axis) => axis !== chosen.x && axis !== chosen.by);
    const lines = names.filter((_, axis) => axis !== chosen.x);
    const change = (name) => (value) => {
      const others = axes.map((_, axis) => axis).filter((axis) => axis !== chosen.x);
      if (name === "quantity") chosen.quantity = value;
      else if (name === "x") [chosen.x, chosen.by] = [value, chosen.by === value ? chosen.x : chosen.by];
      else if (name === "by") chosen.by = others[value];
      else chosen.fixed[name] = value;
      redraw(name);
    };
    const all = [["quantity", chooser("figure", quantities, chosen.quantity, change("quantity"))], ["x", chooser("along", names, chosen.x, change("x"))]];
    if (chosen.by >= 0) all.push(["by", chooser("lines and rows", lines, lines.indexOf(names[chosen.by]), change("by"))]);
    for (const axis of rest) all.push([axis, chooser(names[axis], axes[axis].labels, chosen.fixed[axis], change(axis))]);
    choices.replaceChildren(...all.map(([, node]) => node));
    all.find(([name]) => name === focus)?.[1].querySelector("select").focus();
    put(place, sweepFigures().map((figure) => show(figure)));
  };
  section.replaceChildren(make("h2", {}, "All combinations"), choices, place);
  redraw(null);
}

/* The page. */

function part(place) {
  figures(report.parts[place]);
}

function parts() {
  if (report.parts.length < 2) return;
  const section = document.getElementById("chooser");
  section.hidden = false;
  const choice = chooser("combination", report.parts.map((each) => each.name), 0, part);
  section.replaceChildren(make("h2", {}, "One combination"), make("div", { class: "choices" }, choice));
}

function themes() {
  const button = document.getElementById("theme");
  const names = { auto: "as the system", light: "light", dark: "dark" };
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const all = Object.keys(names);
    root.dataset.theme = all[(all.indexOf(root.dataset.theme) + 1) % all.length];
    button.textContent = `Theme: ${names[root.dataset.theme]}`;
    drawIn(document);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawIn(document));
}

document.getElementById("title").textContent = report.title;
document.getElementById("lead").textContent = report.lead;
document.getElementById("command").textContent = report.command;
document.getElementById("scenario").textContent = report.scenario;
document.getElementById("foot").textContent = report.foot;
document.getElementById("facts").append(...report.facts.map(([label, value]) => make("div", { class: "fact" }, make("b", {}, value), make("span", {}, label))));
themes();
if (report.cells && report.cells.axes.length) sweep();
parts();
if (report.parts.length) part(0);
window.laggard = { report, charts };
