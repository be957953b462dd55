import { $, agreement, attempt, duration, fleetSpeed, follow, grouped, h, jobActions, percent, get, post, repeat, say, showEvents, speed, stateText, timeLeft } from "./page.js";

const said = $("said");
const rows = new Map();

$("submit").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  const n = Number(form.get("n"));
  const submit = () => post("jobs", {
    n, method: form.get("method"), priority: Number(form.get("priority")),
    crosses: form.get("crosses") || null, recount: form.get("recount") || null,
    second_pass: form.get("second_pass") || null,
  });
  attempt(said, submit, `The job for n = ${n} is submitted.`);
});

/** A row for a job, and a way to show another state of it. */
function makeRow(id) {
  const actions = jobActions(said);
  const cell = (label, ...children) => h("td", { "data-label": label }, h("div", {}, ...children));
  const state = h("span"), failure = h("small", { className: "bad" });
  const n = h("span"), method = h("span"), count = h("span", { className: "number" }), agrees = h("small");
  const share = h("span"), bar = h("progress", { max: 1, "aria-label": `Work done of job ${id}` });
  const now = h("span"), hour = h("small"), left = h("span"), workers = h("span"), priority = h("span");
  const element = h("tr", { id: `job-${id}` },
    cell("Job", h("a", { href: `/jobs/${id}` }, `job ${id}`)), cell("n", n), cell("Method", method), cell("State", state, failure),
    cell("Solutions", count, agrees), h("td", { "data-label": "Work done", className: "share" }, h("div", {}, share, bar)),
    cell("Speed", now, hour), cell("Time left", left), cell("Workers", workers), cell("Priority", priority),
    cell("Actions", actions.element));
  const show = (job) => {
    say(n, String(job.n));
    say(method, job.method);
    say(state, stateText(job));
    state.className = ["failed", "disputed"].includes(job.state) || job.failed ? "bad" : job.state === "done" ? "good" : "";
    say(failure, job.failure ?? (job.waits_for === null ? "" : `waits for ${job.waits_for}`));
    failure.className = job.failure ? "bad" : "quiet";
    say(count, grouped(job.solutions));
    const [words, look] = agreement(job);
    say(agrees, words);
    agrees.className = look;
    say(share, percent(job.fraction));
    bar.value = job.fraction;
    say(now, speed(job.nodes_per_second, job.method));
    say(hour, job.nodes_per_second_hour === null ? "" : `${speed(job.nodes_per_second_hour, job.method)} last hour`);
    say(left, job.state === "done" ? `took ${duration(job.seconds)}` : timeLeft(job));
    say(workers, String(job.workers));
    say(priority, String(job.priority));
    actions.show(job);
  };
  return { element, show };
}

follow((summary) => {
  const body = $("jobs");
  const wanted = new Set(summary.jobs.map((job) => job.job));
  for (const [id, row] of rows) {
    if (!wanted.has(id)) {
      row.element.remove();
      rows.delete(id);
    }
  }
  summary.jobs.forEach((job, at) => {
    if (!rows.has(job.job)) rows.set(job.job, makeRow(job.job));
    const row = rows.get(job.job);
    row.show(job);
    // Moving a row would take the focus from its buttons.
    if (body.children[at] !== row.element) body.insertBefore(row.element, body.children[at] ?? null);
  });
  $("none").hidden = summary.n_jobs > 0;
  $("list").hidden = summary.n_jobs === 0;
  const more = summary.n_jobs - summary.jobs.length;
  say($("more"), more > 0 ? `${grouped(more)} more that are over or wait: GET /api/v1/jobs, or queens jobs.` : "");
  const { workers, coordinator } = summary;
  say($("version"), coordinator.version);
  say($("uptime"), duration(coordinator.seconds_up));
  say($("store"), coordinator.store_error ? `${coordinator.store}, can't be written` : coordinator.store);
  say($("slowest"), `${coordinator.slowest_step_seconds.toFixed(3)} s`);
  say($("connected"), grouped(workers.connected));
  say($("threads"), grouped(workers.threads));
  say($("speed"), fleetSpeed(workers));
  const troubled = ["draining", "blocked", "stuck", "failing"].filter((state) => workers[state]);
  const away = workers.total - workers.connected;
  const notes = troubled.map((state) => `${grouped(workers[state])} ${state}`);
  if (away) notes.push(`${grouped(away)} not connected`);
  say($("troubles"), notes.join(", ") || "none");
});

repeat(2, async () => showEvents($("events"), (await get("events?limit=50")).events));
