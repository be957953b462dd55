// Draws throughput over time as an SVG curve, with gaps where nothing was measured.

import { $, prefixed, speed, unitsOf } from "./page.js";

const part = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

/** The places left and right of a curve, in pixels: the same in all charts, so that their times are in line. */
const LEFT = 62, RIGHT = 74;

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

/** Draws the speeds by search and by halves. */
export function drawSpeeds(curves, what) {
  for (const method of ["search", "halves"]) drawChart($(`${method}-chart`), curves?.[method], { ...throughput(method), what });
  $("curves").hidden = $("search-chart").parentElement.hidden && $("halves-chart").parentElement.hidden;
}

/** Draws a curve of a history, unless it has too few samples; the last argument describes it, as `throughput` does. */
export function drawChart(svg, curve, { what, unit, isWhole, mark, say }) {
  const samples = curve?.samples ?? [];
  svg.parentElement.hidden = samples.length < 2;
  if (samples.length < 2) return;
  svg.closest("section").hidden = false;
  const width = svg.clientWidth || 600, height = svg.clientHeight || 240;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const most = samples.reduce((most, sample) => (sample.mean > most.mean ? sample : most));
  const latest = samples.at(-1), lastText = latest.mean === 0 ? "0" : mark(latest.mean);
  const top = 38, bottom = 22, left = LEFT, right = RIGHT;
  const limit = ceiling(Math.max(most.mean, 1));
  // There is no half worker.
  const shares = isWhole && limit % 2 ? [0, 1] : [0, 0.5, 1];
  const marks = shares.map((share) => [share * limit, share === 0 ? "0" : mark(share * limit)]);
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

  // The last value is right of the curve, the largest one above its point and never beyond the curve's ends.
  const [peak, end] = [most, latest].map((sample) => ({ cx: x(sample.at_ms), cy: y(sample.mean), r: 3.5, class: "mark" }));
  const third = (width - left - right) / 3;
  const anchor = peak.cx < left + third ? "start" : peak.cx > width - right - third ? "end" : "middle";
  const labels = [part("circle", end), part("text", { class: "label", x: end.cx + 7, y: end.cy + 4 }, lastText)];
  if (most !== latest) {
    labels.push(part("circle", peak), part("text", { class: "label", x: peak.cx, y: peak.cy - 8, "text-anchor": anchor }, `peak ${mark(most.mean)}`));
  }

  const isLong = to - from > 86_400_000;
  const clock = (at) => new Date(at).toLocaleString([], isLong ? { dateStyle: "short" } : { timeStyle: curve.step_seconds < 10 ? "medium" : "short" });
  svg.replaceChildren(...gaps, ...axis, ...curves, ...labels,
    part("text", { x: 2, y: 12 }, `${unit} (right: the last value)`),
    part("text", { x: left, y: height - 5 }, clock(from)),
    part("text", { x: width - right, y: height - 5, "text-anchor": "end" }, clock(to)));
  const measured = samples.reduce((sum, sample) => sum + sample.measured_seconds, 0);
  const mean = samples.reduce((sum, sample) => sum + sample.mean * sample.measured_seconds, 0) / measured;
  const missing = gaps.length === 0 ? "" : `; not measured ${gaps.length === 1 ? "once" : `${gaps.length} times`} in between`;
  svg.setAttribute("aria-label", `${what} from ${clock(from)} to ${clock(to)}: ${say(latest.mean)} at the end, ${say(mean)} on average, at most ${say(most.mean)}${missing}`);
}
