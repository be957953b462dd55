// Functions for all pages: elements, numbers, requests to the coordinator, and the stream of summaries.

/** Creates an element with properties and children; strings become text. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name === "className" ? "class" : name, value);
  }
  element.append(...children);
  return element;
}

export const $ = (id) => document.getElementById(id);

/** Sets a text only if it differs, so as not to disturb selections and screen readers. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Groups digits by thousands; takes strings, since counts may exceed 2^53. */
export const grouped = (digits) => String(digits).replace(/\B(?=(\d{3})+$)/g, ",");

/** Formats a share, "0.0031 %", as the command line does. Rounds down, so that only the whole is 100 %. */
export const percent = (share) => {
  // Compensates rounding, so that 0.07 is 7 %.
  const percent = share * 100 * (1 + 1e-12);
  if (share >= 1) return "100 %";
  if (percent <= 0) return "0 %";
  if (percent < 0.0001) return "<0.0001 %";
  const decimals = percent >= 10 ? 1 : percent >= 1 ? 2 : 1 - Math.floor(Math.log10(percent));
  const parts = 10 ** decimals;
  return `${Math.min(Math.floor(percent * parts) / parts, 99.9).toFixed(decimals)} %`;
};

/** The unit of a method's work. */
export const unitsOf = (method) => (method === "halves" ? "units" : "nodes");

/** Formats a number with three digits and an SI prefix: "62.3 M". */
export function prefixed(number) {
  const units = [["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["P", 1e15]];
  const [unit, size] = units.findLast(([, size]) => number >= size) ?? units[0];
  return `${(number / size).toPrecision(3)}${unit && ` ${unit}`}`;
}

/** Formats work per second, by a method. */
export const speed = (perSecond, method) =>
  (perSecond === null || perSecond === undefined ? "–" : `${prefixed(perSecond)} ${unitsOf(method)}/s`);

/** Formats the speeds by both methods, which can't be added up. */
export function speeds(by) {
  if (by === null) return "–";
  const used = Object.entries(by).filter(([, perSecond]) => perSecond > 0);
  return used.map(([method, perSecond]) => speed(perSecond, method)).join(" + ") || "0";
}

/** Formats the speed of all workers, and how many of them are measured, if not all. */
const fleetSpeed = ({ speed_by: by, counting, measured }) =>
  speeds(by) + (measured < counting ? ` (${grouped(measured)} of ${grouped(counting)} workers measured)` : "");

/** Formats seconds in the two largest units. */
export function duration(seconds) {
  const units = [["y", 31557600], ["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const whole = Math.round(seconds);
  const at = units.findIndex(([, size]) => whole >= size);
  if (at < 0) return `${seconds.toFixed(1)} s`;
  const [name, size] = units[at];
  const first = `${Math.floor(whole / size)} ${name}`;
  const next = units[at + 1];
  return next ? `${first} ${Math.floor((whole % size) / next[1])} ${next[0]}` : first;
}

/** Formats the duration of a finished job. */
export const took = (seconds) => (seconds < 0.1 ? "under 0.1 s" : duration(seconds));

/** Formats the local time at which a job will be done, unless it is too near or too far for a date. */
export function doneAt(low, high) {
  const day = 86400, year = 365.25 * day;
  if (high < 3600 || high >= 1000 * year) return "";
  const exact = high - low < 2 * day, step = (exact ? 600 : day) * 1000, now = Date.now();
  const first = new Date(Math.floor((now + low * 1000) / step) * step);
  const last = new Date(Math.ceil((now + high * 1000) / step) * step);
  const style = high >= 2 * year ? { year: "numeric" } : exact ? { dateStyle: "medium", timeStyle: "short" } : { dateStyle: "medium" };
  return `, done ${new Intl.DateTimeFormat(undefined, style).formatRange(first, last)}`;
}

export const isOver = (job) => ["done", "cancelled", "failed", "damaged"].includes(job.state);

export const timeLeft = (job) =>
  job.left + (isOver(job) || job.unchecked !== null || job.seconds_left_high === null ? "" : doneAt(job.seconds_left_low, job.seconds_left_high));

/** Describes the parts that a job counts. */
export const partText = (job) => `parts ${job.part_range}${job.parts ? ` of ${grouped(job.parts)}` : ""}`;

/** The title of a job's count. */
export const countTitle = (job) =>
  job.state === "done" ? "Counted: solutions" : job.provisional ? "Provisional number of solutions" : "Counted so far";

/** Describes the workers together. */
export function fleetText(fleet) {
  if (!fleet.connected) return "No worker is connected.";
  const many = (count, one) => `${grouped(count)} ${one}${count === 1 ? "" : "s"}`;
  return `${many(fleet.connected, "worker")}, ${many(fleet.threads, "thread")}: ${fleet.counting ? fleetSpeed(fleet) : "idle"}`;
}

/** Names the workers that need attention; empty if none does. */
export function fleetTroubles(fleet) {
  const notes = ["draining", "blocked", "stuck", "failing"].filter((state) => fleet[state]).map((state) => `${grouped(fleet[state])} ${state}`);
  const away = fleet.total - fleet.connected;
  return [...notes, ...(away ? [`${grouped(away)} not connected`] : [])].join(", ");
}

/** The comparison of a finished count with the published one, and its class. */
export function agreement(job) {
  if (job.provisional) return ["provisional: not all of it is verified yet", "warn"];
  if (job.state !== "done") return ["", ""];
  return [job.comparison, job.agrees === null ? "quiet" : job.agrees ? "good" : "bad"];
}

async function answer(response) {
  // After the end of a log-in session, every request needs a new log-in.
  if (response.status === 401 && location.pathname !== "/login") location.assign("/login");
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    const error = new Error(body.error ?? `the coordinator answered ${response.status}`);
    throw Object.assign(error, { confirm: body.confirm });
  }
  return body;
}

const unreachable = () => { throw new Error("the coordinator can't be reached"); };

export const get = async (path) => answer(await fetch(`/api/v1/${path}`).catch(unreachable));

export const post = async (path, body = {}) => answer(await fetch(`/api/v1/${path}`, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
}).catch(unreachable));

/** Loads the user's role, by which the style hides actions, and adds the log-out button. */
async function meet() {
  const { who, role } = await get("me").catch(() => ({ role: null }));
  if (!role || document.body.dataset.role) return;
  document.body.dataset.role = role;
  const pages = document.querySelector("header nav ul");
  if (role === "operator") {
    pages.append(h("li", {}, h("a", { href: "/audit", "aria-current": location.pathname === "/audit" ? "page" : null }, "Audit log")));
  }
  const leave = async () => {
    await post("logout").catch(() => {});
    location.assign("/login");
  };
  $("connection").after(h("button", { type: "button", title: `${who}, ${role}`, onclick: leave }, "Log out"));
}

/** Executes an action and shows its result on a status line. An action that returns `false` was not executed. */
export async function attempt(line, doing, done) {
  try {
    const isDone = (await doing()) !== false;
    line.className = "said";
    say(line, isDone ? done : "");
  } catch (error) {
    line.className = "said bad";
    say(line, `Not done: ${error.message}`);
  }
}

/**
 * Asks in a dialog; returns the form's values, or `false` if the user goes back. `look` is the class of the button that
 * agrees: `danger` if that destroys something.
 */
export function ask(question, yes, look = "main", ...fields) {
  return new Promise((resolve) => {
    const form = h("form", { method: "dialog" }, ...fields,
      h("button", { className: look, value: "yes", type: "submit" }, yes),
      h("button", { value: "no", type: "submit", formnovalidate: "", autofocus: look === "danger" }, "Go back"));
    const dialog = h("dialog", { "aria-label": question }, h("p", {}, question), form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? Object.fromEntries(new FormData(form)) : false);
    });
    // The content security policy forbids submitting forms.
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      dialog.close(event.submitter?.value ?? "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A button; `action` is called when it is pressed. */
export const button = (text, action, className) => h("button", { type: "button", className, onclick: action }, text);

/** The buttons for a job, with the line that shows their results. */
export function jobActions() {
  const line = h("p", { className: "said", role: "status" });
  const id = (job) => `jobs/${job.job}`;
  let job;
  const pause = button("Pause", () => attempt(line, () => post(`${id(job)}/pause`), `Job ${job.job} is paused.`));
  const resume = button("Resume", () => attempt(line, () => post(`${id(job)}/resume`), `Job ${job.job} is resumed.`));
  const priority = button("Priority", async () => {
    const input = h("input", { name: "priority", type: "number", min: "-1000", max: "1000", step: "1", value: String(job.priority), required: true });
    const label = h("label", {}, "Priority, −1000 to 1000", input);
    const given = await ask(`Which priority for job ${job.job}? Jobs of higher priority are counted first.`, "Set priority", "main", label);
    if (given) attempt(line, () => post(`${id(job)}/priority`, { priority: Number(given.priority) }), `Job ${job.job} has priority ${given.priority}.`);
  }, "calm");
  const end = button("End verification", () => attempt(line, () => post(`${id(job)}/end-verification`), `Job ${job.job} keeps what is proved.`));
  const cancel = button("Cancel", async () => {
    const lost = job.provisional ? "Its number stays provisional and without a certificate: “End verification” keeps what is proved." : "Its records stay in the database, but no worker continues it.";
    const sure = await ask(`Cancel job ${job.job} (n = ${job.n}) for good? ${lost}`, "Cancel the job", "danger");
    if (sure) attempt(line, () => post(`${id(job)}/cancel`), `Job ${job.job} is cancelled.`);
  }, "calm");
  const buttons = h("div", { className: "actions" }, pause, resume, end, priority, cancel);
  return {
    element: h("div", {}, buttons, line),
    show(now) {
      job = now;
      const ended = ["done", "cancelled", "damaged"].includes(job.state);
      pause.hidden = job.state === "paused";
      resume.hidden = job.state !== "paused" && job.failed === 0;
      end.hidden = !job.provisional || job.second_of !== null;
      buttons.hidden = ended;
      for (const [one, what] of [[pause, "Pause"], [resume, "Resume"], [end, "End the verification of"], [priority, "Set the priority of"], [cancel, "Cancel"]]) {
        one.setAttribute("aria-label", `${what} job ${job.job}`);
      }
    },
  };
}

/** Formats a time in one line. */
export const moment = (ms) => (ms === null ? "–" : new Date(ms).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }));

/** Formats a half-open range of subproblems. */
export const subproblems = ({ from, to }) =>
  to - from === 1 ? `subproblem ${grouped(from)}` : `subproblems ${grouped(from)} to ${grouped(to - 1)}`;

/** Formats a number of spans. */
export const spans = ({ spans: count }) => (count === 1 ? "1 span" : `${grouped(count)} spans`);

/** Shows events, the latest first; does not touch the list if nothing is new. */
export function showEvents(list, events) {
  const newest = String(events[0]?.number ?? 0) + events[0]?.at_ms;
  if (list.dataset.newest === newest) return;
  list.dataset.newest = newest;
  list.replaceChildren(...events.map((event) => {
    const at = new Date(event.at_ms);
    const today = at.toDateString() === new Date().toDateString();
    const time = today ? at.toLocaleTimeString() : at.toLocaleString();
    return h("li", {},
      h("time", { datetime: at.toISOString() }, time),
      h("span", { className: `kind-${event.kind}` }, event.kind),
      h("span", {}, event.job ? `job ${event.job}: ${event.text}` : event.text));
  }));
}

/** Returns the segment at this index of the page's path. */
export const pathPart = (at) => decodeURIComponent(location.pathname.split("/")[at] ?? "");

/** Silence after which a connection counts as lost; a summary comes twice a second. */
const SILENCE_MS = 5_000;
const RETRY_MS = 1000;

/** Describes what prevents the coordinator from working; empty if nothing does. */
function troubles({ store_error: error, refuses }) {
  const refused = refuses.map((what) => `The coordinator refuses ${what}.`);
  return [...(error ? [`Nothing can be recorded now: ${error}.`] : []), ...refused].join(" ");
}

/** Calls `show` with each summary; reconnects forever when the connection is lost. */
export function follow(show) {
  const line = $("connection");
  const isThere = isAwaited ? () => {} : reveal("summary");
  let source, timer, version, latest;
  const lost = () => {
    source?.close();
    clearTimeout(timer);
    line.classList.add("lost");
    // What is shown may have changed since.
    document.querySelector("main").classList.toggle("old", latest !== undefined);
    say(line, `connection lost, reconnecting${latest ? `; as of ${latest.toLocaleTimeString()}` : ""}`);
    timer = setTimeout(connect, RETRY_MS);
  };
  const watch = () => {
    clearTimeout(timer);
    timer = setTimeout(lost, SILENCE_MS);
  };
  const connect = () => {
    meet();
    source = new EventSource("/api/v1/live");
    source.addEventListener("error", lost);
    source.addEventListener("summary", (event) => {
      watch();
      latest = new Date();
      const summary = JSON.parse(event.data);
      // The coordinator has another version than this page.
      if (version && version !== summary.version) return location.reload();
      version = summary.version;
      line.classList.remove("lost");
      document.querySelector("main").classList.remove("old");
      say(line, "live");
      const alert = $("store-error");
      alert.hidden = !troubles(summary.coordinator);
      say(alert, troubles(summary.coordinator));
      show(summary);
      isThere("summary");
    });
    watch();
  };
  addEventListener("pagehide", () => { source?.close(); clearTimeout(timer); });
  addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
  connect();
}

/** Milliseconds after which a page is shown, complete or not. */
const LATEST_MS = 2_000;
let isAwaited = false;

/** Shows the page when all awaited content is there. Returns a function that reports content as there. */
export function reveal(...awaited) {
  isAwaited = true;
  const left = new Set(awaited);
  const show = () => document.querySelector("main").classList.remove("waits");
  setTimeout(show, LATEST_MS);
  return (what) => {
    left.delete(what);
    if (left.size === 0) show();
  };
}

/** Calls `load` every `seconds`, one call at a time, and only while the page is visible. */
export function repeat(seconds, load) {
  let running = false;
  const run = async () => {
    if (running || document.hidden) return;
    running = true;
    try { await load(); } catch (error) { console.warn(error.message); }
    running = false;
  };
  run();
  setInterval(run, seconds * 1000);
  document.addEventListener("visibilitychange", run);
  return run;
}
