// The page of all workers of one name.

import { $, follow, get, grouped, h, pathPart, percent, repeat, reveal, say, showEvents, spans, speed, subproblems } from "./page.js";
import { countingOf, heardOf, isTroubled, sensorsOf, stateOf, workerActions } from "./fleet.js";
import { drawSpeeds } from "./chart.js";
import { makeRows } from "./list.js";

/** The most workers that are shown. */
const MOST = 50;

/** The most contributions that are searched for the name. */
const MOST_CONTRIBUTIONS = 1000;

const name = pathPart(2);
const query = (key) => new URLSearchParams({ [key]: name });
const actions = workerActions(() => load());
$("actions").append(actions.element);
document.title = `${name} – queens`;
say($("title"), name);

/** The current jobs of the workers; `null` until they are known. */
let jobs = null;

const isThere = reveal("workers", "jobs", "events", "curve");

/** Makes the section of one worker. */
function makeWorker(id) {
  const values = new Map();
  const fact = (title, ...children) => {
    const value = h("dd", {}, ...children);
    values.set(title, value);
    return h("div", {}, h("dt", {}, title), value);
  };
  const counting = h("a"), rest = h("small", { className: "quiet" }), failure = h("p", { className: "bad", hidden: true });
  const titles = ["State", "Speed by search", "Speed by halves", "Last heard", "Leases held", "Spans recorded", "Threads", "Kernel", "Methods", "Build", "Sensors"];
  const facts = titles.map((title) => fact(title));
  const element = h("section", { "aria-label": `Worker ${id}` }, h("h2", {}, "Worker ", h("code", {}, id)),
    h("dl", { className: "facts" }, ...facts, h("div", { className: "wide" }, h("dt", {}, "Counting"), h("dd", {}, counting, " ", rest))), failure);
  const show = (worker) => {
    const by = (method) => (worker.speed_by === null ? "not measured yet" : speed(worker.speed_by[method] || null, method));
    const words = {
      "State": stateOf(worker), "Last heard": heardOf(worker), "Threads": String(worker.threads), "Kernel": worker.kernel,
      "Leases held": grouped(worker.leases), "Spans recorded": grouped(worker.recorded), "Build": worker.build,
      "Methods": worker.methods.join(", ") || "unknown", "Speed by search": by("search"), "Speed by halves": by("halves"),
      "Sensors": sensorsOf(worker),
    };
    for (const [title, text] of Object.entries(words)) say(values.get(title), text);
    values.get("Sensors").parentElement.hidden = !sensorsOf(worker);
    values.get("State").className = isTroubled(worker) ? "warn" : "";
    const now = countingOf(worker);
    say(counting, now?.text ?? "nothing");
    if (now) counting.setAttribute("href", now.href);
    else counting.removeAttribute("href");
    say(rest, now ? `${subproblems(worker.counting)}, on one of its threads` : "");
    failure.hidden = worker.failure === null;
    say(failure, worker.failure ?? "");
  };
  return { element, show };
}

const showWorkers = makeRows($("all"), (worker) => worker.worker, makeWorker);

const load = repeat(1, async () => {
  const { workers, total, blocked } = await get(`workers?${query("name")}&limit=${MOST}`);
  const isBlocked = blocked.includes(name);
  actions.show(name, isBlocked);
  actions.drainable(total > 0);
  showWorkers(workers);
  $("gone").hidden = total > 0;
  $("blocked").hidden = !isBlocked;
  say($("number"), total <= 1 ? "" : `${grouped(total)} workers have this name${total > MOST ? `; the first ${MOST} are shown` : ""}. Actions apply to all of them.`);
  const before = jobs?.join();
  jobs = [...new Set(workers.map((worker) => worker.counting?.job).filter(Boolean))];
  if (jobs.join() !== before) loadJobs();
  isThere("workers");
});

// Other jobs list the worker on their own pages.
const loadJobs = repeat(5, async () => {
  if (jobs === null) return;
  const found = [];
  for (const job of jobs) {
    const { contributions } = await get(`jobs/${job}/contributions?limit=${MOST_CONTRIBUTIONS}`);
    const own = contributions.filter((one) => one.worker === name);
    const link = h("a", { href: `/jobs/${job}` }, `job ${job}`);
    const text = own.map((one) => `${spans(one)} with the kernel ${one.kernel}, ${percent(one.share)} of the recorded work`);
    found.push(h("li", {}, link, ": ", text.join("; ") || "nothing is recorded yet"));
  }
  $("jobs").replaceChildren(...(found.length ? found : [h("li", { className: "quiet" }, "It counts no job.")]));
  isThere("jobs");
});

repeat(2, async () => {
  const { events } = await get(`events?${query("worker")}&limit=100`);
  $("events-none").hidden = events.length > 0;
  showEvents($("events"), events);
  isThere("events");
});

let curves;
const redraw = () => drawSpeeds(curves, "speed");
addEventListener("resize", redraw);
repeat(5, async () => {
  curves = await get(`workers/${encodeURIComponent(name)}/history`);
  redraw();
  isThere("curve");
});

follow(() => {});
