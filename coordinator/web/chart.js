// Throughput over time as a curve, with gaps where nothing was measured.

import { speed } from "./page.js";

const part = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

/** A round number that is no less. */
function ceiling(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * size).find((round) => round >= value);
}

/** Samples in runs between which there is a step, or more, that nobody measured. Each begins where its first sample does. */
function runsOf({ step_seconds, samples }) {
  const runs = [];
  for (const { at_ms, measured_seconds, nodes_per_second } of samples) {
    const begins = at_ms - measured_seconds * 1000;
    const last = runs.at(-1);
    if (last === undefined || begins - last.at(-1).at > step_seconds * 1000) runs.push([{ at: begins, value: nodes_per_second }]);
    runs.at(-1).push({ at: at_ms, value: nodes_per_second });
  }
  return runs;
}

/** A level of the history of a job that is counted by `method`; or of `what` else, whose values `write` puts into words. */
export function drawChart(svg, level, method, what = "throughput", write = (value) => speed(value, method)) {
  const samples = level?.samples ?? [];
  const width = svg.clientWidth || 600, height = svg.clientHeight || 240;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (samples.length < 2) {
    svg.replaceChildren(part("text", { x: 8, y: 24 }, "Nothing has been counted for long enough to draw a curve."));
    svg.setAttribute("aria-label", `no ${what} to show yet`);
    return;
  }
  const [left, right, top, bottom] = [8, 8, 22, 22];
  const runs = runsOf(level);
  const from = runs[0][0].at, to = samples.at(-1).at_ms;
  const most = ceiling(Math.max(...samples.map((sample) => sample.nodes_per_second), 1));
  const x = (at) => left + (width - left - right) * (at - from) / Math.max(to - from, 1);
  const y = (value) => height - bottom - (height - top - bottom) * value / most;
  const line = (run) => run.map(({ at, value }) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
  const curves = runs.flatMap((run) => [
    part("path", { class: "area", d: `M${x(run[0].at)} ${y(0)}L${line(run)}L${x(run.at(-1).at)} ${y(0)}Z` }),
    part("path", { class: "curve", d: `M${line(run)}` }),
  ]);
  const gaps = runs.slice(1).map((run, i) => {
    const begins = x(runs[i].at(-1).at);
    return part("rect", { class: "gap", x: begins, y: top, width: x(run[0].at) - begins, height: height - top - bottom });
  });
  const lines = [0, 0.5, 1].flatMap((share) => [
    part("line", { class: "grid", x1: left, x2: width - right, y1: y(share * most), y2: y(share * most) }),
    ...(share > 0 ? [part("text", { x: left + 2, y: y(share * most) - 4 }, write(share * most))] : []),
  ]);
  const clock = (at) => new Date(at).toLocaleString([], to - from > 86_400_000 ? { dateStyle: "short" } : { timeStyle: level.step_seconds < 10 ? "medium" : "short" });
  svg.replaceChildren(...gaps, ...lines, ...curves,
    part("text", { x: left, y: height - 5 }, clock(from)),
    part("text", { x: width - right, y: height - 5, "text-anchor": "end" }, clock(to)));
  const measured = samples.reduce((sum, sample) => sum + sample.measured_seconds, 0);
  const mean = samples.reduce((sum, sample) => sum + sample.nodes_per_second * sample.measured_seconds, 0) / measured;
  const missing = gaps.length === 0 ? "" : `; not measured ${gaps.length === 1 ? "once" : `${gaps.length} times`} in between`;
  svg.setAttribute("aria-label", `${what} from ${clock(from)} to ${clock(to)}: ${write(samples.at(-1).nodes_per_second)} at the end, ${write(mean)} on average, at most ${write(Math.max(...samples.map((sample) => sample.nodes_per_second)))}${missing}`);
}
