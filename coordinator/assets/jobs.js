// The page of all jobs, with the form that submits one.

import { $, agreement, ask, attempt, duration, fleetText, fleetTroubles, follow, grouped, h, isOver, jobActions, percent, get, post, repeat, reveal, say, showEvents, speed, timeLeft, took } from "./page.js";
import { drawChart, drawSpeeds } from "./chart.js";
import { makeList, makeRows } from "./list.js";

const isThere = reveal("summary", "list", "curves");

// A wrong field is shown.
$("submit").addEventListener("invalid", () => { $("submit").querySelector("details").open = true; }, true);
$("submit").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  const n = Number(form.get("n"));
  const job = {
    n, method: form.get("method") || null, priority: Number(form.get("priority")),
    part_range: form.get("part_range") || null, recount: form.get("recount") || null,
    recount_by: form.get("recount_by").trim() || null, second_pass: form.get("second_pass") || null,
  };
  // As for 'queens submit', the coordinator decides which jobs must be confirmed.
  const submit = () => post("jobs", job).catch(async (error) => {
    if (!error.confirm) throw error;
    return await ask(`${error.confirm}. Submit it?`, "Submit the job") && post("jobs", { ...job, confirm: true });
  });
  attempt($("said"), submit, `The job for n = ${n} is submitted.`).then(load);
});

/** Makes a row for a job, and a function that updates it. */
function makeRow(id) {
  const actions = jobActions();
  const cell = (label, ...children) => h("td", { "data-label": label }, h("div", {}, ...children));
  const state = h("span"), failure = h("small", { className: "bad" });
  const pass = h("small"), n = h("span"), method = h("span"), count = h("span", { className: "number" }), agrees = h("small");
  const share = h("span"), bar = h("progress", { max: 1, "aria-label": `Work done of job ${id}` });
  const now = h("span"), hour = h("small"), left = h("span"), workers = h("span"), priority = h("span");
  const element = h("tr", { id: `job-${id}` },
    cell("Job", h("a", { href: `/jobs/${id}` }, `job ${id}`), pass), cell("n", n), cell("Method", method), cell("State", state, failure),
    cell("Solutions", count, agrees), h("td", { "data-label": "Work done", className: "share" }, h("div", {}, share, bar)),
    cell("Speed", now, hour), cell("Time left", left), cell("Workers", workers), cell("Priority", priority),
    cell("Actions", actions.element));
  const show = (job) => {
    say(n, String(job.n));
    say(method, job.method);
    say(pass, job.second_of === null ? "" : `second pass of job ${job.second_of}`);
    element.className = job.state === "done" ? "is-counted" : "";
    bar.hidden = isOver(job);
    say(state, job.state_text);
    state.className = ["failed", "disputed", "damaged"].includes(job.state) || job.failed ? "bad" : job.state === "done" ? "good" : "";
    say(failure, job.failure ?? (job.waits_for === null || job.state === "running" ? "" : `waits for ${job.waits_for}`));
    failure.className = job.failure ? "bad" : "quiet";
    say(count, grouped(job.solutions));
    const [words, look] = agreement(job);
    say(agrees, words);
    agrees.className = look;
    say(share, percent(job.fraction));
    bar.value = job.fraction;
    say(now, isOver(job) ? "" : speed(job.work_per_second, job.method));
    say(hour, job.work_per_second_hour === null ? "" : `${speed(job.work_per_second_hour, job.method)} last hour`);
    say(left, job.state === "done" ? `took ${took(job.seconds)}` : isOver(job) ? "" : timeLeft(job));
    say(workers, isOver(job) ? "" : String(job.workers));
    say(priority, String(job.priority));
    actions.show(job);
  };
  return { element, show };
}

const showRows = makeRows($("jobs"), (job) => job.job, makeRow);
const load = makeList({ path: "jobs", order: "served", one: "job", many: "jobs", show({ jobs }) { showRows(jobs); isThere("list"); } });

follow(({ workers, coordinator, jobs }) => {
  const running = jobs.filter((job) => job.state === "running" || job.state === "verifying");
  const names = running.slice(0, 3).map((job) => `job ${job.job} (${job.n} queens)`).join(", ");
  say($("doing"), fleetText(workers) + (names ? `, counting ${names}${running.length > 3 ? " and others" : ""}` : ""));
  say($("troubles"), fleetTroubles(workers));
  $("start").hidden = workers.connected > 0;
  say($("version"), coordinator.version);
  say($("uptime"), duration(coordinator.seconds_up));
  say($("store"), coordinator.store_error ? `${coordinator.store}, can't be written` : coordinator.store);
  say($("slowest"), `${coordinator.slowest_step_seconds.toFixed(3)} s`);
  isThere("summary");
});

repeat(2, async () => showEvents($("events"), (await get("events?limit=50")).events));

let curves;
function redraw() {
  const number = (value) => grouped(value < 10 ? Number(value.toFixed(1)) : Math.round(value));
  drawChart($("workers-chart"), curves?.workers, { what: "workers", unit: "workers connected", isWhole: true, mark: number, say: (value) => `${number(value)} workers` });
  drawSpeeds(curves, "throughput");
}
addEventListener("resize", redraw);
repeat(2, async () => {
  curves = await get("history");
  redraw();
  isThere("curves");
});
