// Draws throughput over time as an SVG curve, with gaps where nothing was measured.

import { $, prefixed, speed, unitsOf } from "./page.js";

const part = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

/** Approximate width of a text in pixels. */
const wide = (text) => 7 * text.length;

/** Rounds up to a round number. */
function ceiling(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * size).find((round) => round >= value);
}

/** Splits samples into runs at steps that were not measured. A run begins at the beginning of its first sample. */
function runsOf({ step_seconds, samples }) {
  const runs = [];
  for (const { at_ms, measured_seconds, mean } of samples) {
    const begins = at_ms - measured_seconds * 1000;
    const last = runs.at(-1);
    if (last === undefined || begins - last.at(-1).at > step_seconds * 1000) runs.push([{ at: begins, value: mean }]);
    runs.at(-1).push({ at: at_ms, value: mean });
  }
  return runs;
}

/** Describes the curve of a job's throughput by a method. */
export const throughput = (method) =>
  ({ what: "throughput", unit: `${unitsOf(method)} a second`, mark: prefixed, say: (value) => speed(value, method) });

/** Draws the speeds by search and by halves. A method without samples has no chart; if neither has any, the search's chart says so. */
export function drawSpeeds(curves, what) {
  const has = (method) => Boolean(curves?.[method].samples.length);
  $("halves-part").hidden = !has("halves");
  $("search-part").hidden = has("halves") && !has("search");
  for (const method of ["search", "halves"]) drawChart($(`${method}-chart`), curves?.[method], { ...throughput(method), what });
}

/** Draws a curve of a history; the last argument describes the curve, as `throughput` does. Returns whether there are enough samples. */
export function drawChart(svg, curve, { what, unit, isWhole, mark, say }) {
  const samples = curve?.samples ?? [];
  const width = svg.clientWidth || 600, height = svg.clientHeight || 240;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (samples.length < 2) {
    svg.replaceChildren(part("text", { x: 8, y: 24 }, "There are too few samples for a curve."));
    svg.setAttribute("aria-label", `no ${what} to show yet`);
    return false;
  }
  const most = samples.reduce((most, sample) => (sample.mean > most.mean ? sample : most));
  const latest = samples.at(-1), lastText = latest.mean === 0 ? "0" : mark(latest.mean);
  const top = 38, bottom = 22, right = 10 + wide(lastText);
  const limit = ceiling(Math.max(most.mean, 1));
  // There is no half worker.
  const shares = isWhole && limit % 2 ? [0, 1] : [0, 0.5, 1];
  const marks = shares.map((share) => [share * limit, share === 0 ? "0" : mark(share * limit)]);
  const left = 10 + Math.max(...marks.map(([, text]) => wide(text)));
  const runs = runsOf(curve);
  const from = runs[0][0].at, to = latest.at_ms;
  const x = (at) => left + (width - left - right) * (at - from) / Math.max(to - from, 1);
  const y = (value) => height - bottom - (height - top - bottom) * value / limit;
  const line = (run) => run.map(({ at, value }) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
  const curves = runs.flatMap((run) => [
    part("path", { class: "area", d: `M${x(run[0].at)} ${y(0)}L${line(run)}L${x(run.at(-1).at)} ${y(0)}Z` }),
    part("path", { class: "curve", d: `M${line(run)}` }),
  ]);
  const gaps = runs.slice(1).map((run, i) => {
    const begins = x(runs[i].at(-1).at);
    return part("rect", { class: "gap", x: begins, y: top, width: x(run[0].at) - begins, height: height - top - bottom });
  });
  const axis = marks.flatMap(([value, text]) => [
    part("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    part("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, text),
  ]);

  // The largest value is above its point, the last one right of the curve.
  const [peak, end] = [most, latest].map((sample) => ({ cx: x(sample.at_ms), cy: y(sample.mean), r: 3.5, class: "mark" }));
  const peakText = `peak ${mark(most.mean)}`;
  const peakX = Math.min(Math.max(peak.cx - wide(peakText) / 2, left + 2), width - right - wide(peakText));
  const labels = [
    part("circle", peak), part("text", { class: "label", x: peakX, y: peak.cy - 8 }, peakText),
    part("circle", end), part("text", { class: "label", x: end.cx + 7, y: end.cy + 4 }, lastText),
  ];

  const isLong = to - from > 86_400_000;
  const clock = (at) => new Date(at).toLocaleString([], isLong ? { dateStyle: "short" } : { timeStyle: curve.step_seconds < 10 ? "medium" : "short" });
  svg.replaceChildren(...gaps, ...axis, ...curves, ...labels,
    part("text", { x: 2, y: 12 }, `${unit} (right: the last value)`),
    part("text", { x: left, y: height - 5 }, clock(from)),
    part("text", { x: width - 2, y: height - 5, "text-anchor": "end" }, clock(to)));
  const measured = samples.reduce((sum, sample) => sum + sample.measured_seconds, 0);
  const mean = samples.reduce((sum, sample) => sum + sample.mean * sample.measured_seconds, 0) / measured;
  const missing = gaps.length === 0 ? "" : `; not measured ${gaps.length === 1 ? "once" : `${gaps.length} times`} in between`;
  svg.setAttribute("aria-label", `${what} from ${clock(from)} to ${clock(to)}: ${say(latest.mean)} at the end, ${say(mean)} on average, at most ${say(most.mean)}${missing}`);
  return true;
}
