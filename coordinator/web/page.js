// What all pages share: elements, numbers, questions to the coordinator, and the stream of summaries.

/** An element with properties and children; strings become text. */
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

/** Changes a text only if it is another, so that selections and screen readers are left alone. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Digits in thousands; takes strings, as counts outgrow numbers. */
export const grouped = (digits) => String(digits).replace(/\B(?=(\d{3})+$)/g, ",");

/** A share, "0.0031 %", rounded down so that only all of it is 100 %: the same as the command line shows. */
export const percent = (share) => {
  // A little more, so that 0.07 is 7 %.
  const percent = share * 100 * (1 + 1e-12);
  if (share >= 1) return "100 %";
  if (percent <= 0) return "0 %";
  if (percent < 0.0001) return "<0.0001 %";
  const decimals = percent >= 10 ? 1 : percent >= 1 ? 2 : 1 - Math.floor(Math.log10(percent));
  const parts = 10 ** decimals;
  return `${Math.min(Math.floor(percent * parts) / parts, 99.9).toFixed(decimals)} %`;
};

/** What the work of a method is counted in. */
export const unitsOf = (method) => (method === "halves" ? "units" : "nodes");

/** A number with three digits and the prefix of its size: "62.3 M". */
export function prefixed(number) {
  const units = [["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["P", 1e15]];
  const [unit, size] = units.findLast(([, size]) => number >= size) ?? units[0];
  return `${(number / size).toPrecision(3)}${unit && ` ${unit}`}`;
}

/** Work per second, by a method. */
export const speed = (perSecond, method) =>
  (perSecond === null || perSecond === undefined ? "–" : `${prefixed(perSecond)} ${unitsOf(method)}/s`);

/** The same of who may count by both methods, which can't be added up. */
export function speeds(by) {
  if (by === null) return "–";
  const used = Object.entries(by).filter(([, perSecond]) => perSecond > 0);
  return used.map(([method, perSecond]) => speed(perSecond, method)).join(" + ") || "0";
}

/** What all workers count together, and of how many of them that is, if not of all. */
export const fleetSpeed = ({ speed_by: by, counting, measured }) =>
  speeds(by) + (measured < counting ? ` (${grouped(measured)} of ${grouped(counting)} workers measured)` : "");

/** Seconds in the two largest units. */
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

/** How long something took that is done. */
export const took = (seconds) => (seconds < 0.1 ? "under 0.1 s" : duration(seconds));

/** A range of seconds, with no more digits than are known: "45 to 60 min". */
export function range(low, high) {
  const units = [["y", 31557600], ["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  // The largest unit that says both ends, or else the upper.
  const both = units.find(([name, unit]) => high >= 2 * unit && low >= unit && (name === "y" || high < 1000 * unit));
  const [name, unit] = both ?? units.find(([, unit]) => high >= 2 * unit) ?? ["s", 1];
  // Two digits, and whole numbers.
  const rounded = (number, round) => {
    const digits = 10 ** Math.max(Math.floor(Math.log10(Math.max(number, 1))) - 1, 0);
    return round(number / digits) * digits;
  };
  const least = rounded(low / unit, Math.floor), most = Math.max(rounded(high / unit, Math.ceil), 1);
  if (least < 1) return `at most ${grouped(most)} ${name}`;
  return least < most ? `${grouped(least)} to ${grouped(most)} ${name}` : `about ${grouped(most)} ${name}`;
}

/** When what takes so many seconds is done, in local time, if that is worth a date. */
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

export function timeLeft(job) {
  if (isOver(job)) return "–";
  if (job.unchecked !== null) return job.unchecked;
  const { seconds_left_low: low, seconds_left_high: high } = job;
  return typeof low === "number" && typeof high === "number" ? `${range(low, high)}${doneAt(low, high)}` : "unknown";
}

/** Which part of its board a job counts, in words. */
export const partText = (job) => `crosses ${job.crosses}${job.parts ? ` of ${grouped(job.parts)}` : ""}`;

/** What the number of a job is. */
export const countTitle = (job) =>
  job.state === "done" ? "Counted: solutions" : job.provisional ? "Provisional number of solutions" : "Counted so far";

/** How a finished count lies to the published one: words and a class. */
export function agreement(job) {
  if (job.provisional) return ["provisional: not all of it is checked yet", "warn"];
  if (job.state !== "done") return ["", ""];
  if (job.crosses !== null) return [`a part of the board: ${partText(job)}`, "quiet"];
  if (job.agrees === null) return ["no count has been published to compare with", "quiet"];
  return job.agrees
    ? ["agrees with the published count", "good"]
    : [`CONTRADICTS the published count ${grouped(job.published)}`, "bad"];
}

export function stateText(job) {
  const failed = job.failed ? `, ${job.failed} ${job.failed === 1 ? "span" : "spans"} failed` : "";
  const waiting = job.plans_before === null ? "" : `, ${job.plans_before} before it`;
  const planned = job.plan_fraction === null ? "" : ` ${Math.floor(100 * job.plan_fraction)} %`;
  return job.state + planned + failed + waiting;
}

async function answer(response) {
  // Whoever is not logged in any more can't do more here than to log in.
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

/** Finds out what the user may do: the style shows nothing else. Whoever has logged in can log out. */
async function meet() {
  const { who, role } = await get("me").catch(() => ({ role: null }));
  if (!role || document.body.dataset.role) return;
  document.body.dataset.role = role;
  const pages = document.querySelector("header nav ul");
  if (role === "operator" && !pages.querySelector("[href='/audit']")) {
    pages.append(h("li", {}, h("a", { href: "/audit" }, "Audit log")));
  }
  const leave = async () => {
    await post("logout").catch(() => {});
    location.assign("/login");
  };
  $("connection").after(h("button", { type: "button", title: `${who}, ${role}`, onclick: leave }, "Log out"));
}

/** Does something for the user and says how it went, on the page's line for that. */
export async function attempt(line, doing, done) {
  try {
    await doing();
    line.className = "said";
    say(line, done);
  } catch (error) {
    line.className = "said bad";
    say(line, `Not done: ${error.message}`);
  }
}

/** Asks in a dialog; `false` if the user would rather not, or what the form holds. */
export function ask(question, yes, ...fields) {
  return new Promise((resolve) => {
    const form = h("form", { method: "dialog" }, ...fields,
      h("button", { className: "main", value: "yes", type: "submit" }, yes),
      h("button", { value: "no", type: "submit", formnovalidate: "" }, "Go back"));
    const dialog = h("dialog", { "aria-label": question }, h("p", {}, question), form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? Object.fromEntries(new FormData(form)) : false);
    });
    // The policy of the pages lets no form be sent.
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      dialog.close(event.submitter?.value ?? "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** The buttons for a job; `line` says what came of them. */
export function jobActions(line) {
  const id = (job) => `jobs/${job.job}`;
  const button = (text, action, className) => h("button", { type: "button", className, onclick: action }, text);
  let job;
  const pause = button("Pause", () => attempt(line, () => post(`${id(job)}/pause`), `Job ${job.job} is paused.`));
  const resume = button("Resume", () => attempt(line, () => post(`${id(job)}/resume`), `Job ${job.job} goes on.`));
  const priority = button("Priority", async () => {
    const input = h("input", { name: "priority", type: "number", min: "-1000", max: "1000", step: "1", value: String(job.priority), required: true });
    const label = h("label", {}, "Priority, −1000 to 1000", input);
    const given = await ask(`How urgent is job ${job.job}? Higher ones are counted first.`, "Set priority", label);
    if (given) attempt(line, () => post(`${id(job)}/priority`, { priority: Number(given.priority) }), `Job ${job.job} has priority ${given.priority}.`);
  });
  const cancel = button("Cancel", async () => {
    const sure = await ask(`Give up job ${job.job} (n = ${job.n}) for good? What is counted of it stays in the database, but nobody goes on with it.`, "Cancel the job");
    if (sure) attempt(line, () => post(`${id(job)}/cancel`), `Job ${job.job} is cancelled.`);
  }, "danger");
  const element = h("div", { className: "actions" }, pause, resume, priority, cancel);
  return {
    element,
    show(now) {
      job = now;
      const ended = ["done", "cancelled", "damaged"].includes(job.state);
      pause.hidden = job.state === "paused";
      resume.hidden = job.state !== "paused" && job.failed === 0;
      element.hidden = ended;
      for (const [one, what] of [[pause, "Pause"], [resume, "Resume"], [priority, "Set the priority of"], [cancel, "Cancel"]]) {
        one.setAttribute("aria-label", `${what} job ${job.job}`);
      }
    },
  };
}

/** Subproblems of a half-open range. */
export const subproblems = ({ from, to }) =>
  to - from === 1 ? `subproblem ${grouped(from)}` : `subproblems ${grouped(from)} to ${grouped(to - 1)}`;

/** How many spans somebody has counted. */
export const spans = ({ spans: count }) => (count === 1 ? "1 span" : `${grouped(count)} spans`);

/** Shows a list of events, the latest first; leaves the list alone if nothing is new. */
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

/** The number at this place of the page's path. */
export const pathPart = (at) => decodeURIComponent(location.pathname.split("/")[at] ?? "");

/** Silence after which a connection is given up: a summary comes twice a second. */
const SILENCE_MS = 5_000;
const RETRY_MS = 1000;

/** What keeps the coordinator from its work; empty if nothing does. */
function troubles({ store_error: error, refuses }) {
  const refused = refuses.map((what) => `It refuses ${what}.`);
  return [...(error ? [`Nothing is recorded at present: ${error}.`] : []), ...refused].join(" ");
}

/** Calls `show` with each summary; connects again for ever when the connection is lost. */
export function follow(show) {
  const line = $("connection");
  const isThere = isAwaited ? () => {} : reveal("summary");
  let source, timer, version;
  const lost = () => {
    source?.close();
    clearTimeout(timer);
    line.classList.add("lost");
    say(line, "connection lost, reconnecting");
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
      const summary = JSON.parse(event.data);
      // Another program answers than the one that this page is of.
      if (version && version !== summary.version) return location.reload();
      version = summary.version;
      line.classList.remove("lost");
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

/** Milliseconds after which a page is shown, whatever of it is there. */
const LATEST_MS = 2_000;
let isAwaited = false;

/** Shows the page when all of this has been there once; what is returned is told what is. */
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

/** Calls `load` again and again, `seconds` apart, one call at a time, and only while somebody looks. */
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
