// Texts about a worker, and the operators' actions on all workers of a name.

import { ask, attempt, button, duration, h, post } from "./page.js";

/** The path of the page of a name. */
export const workerPage = (name) => `/workers/${encodeURIComponent(name)}`;

export const stateOf = (worker) => (worker.connected ? worker.state : `${worker.state}, not connected`);

export const isTroubled = (worker) => worker.state !== "ready" || !worker.connected;

export const heardOf = (worker) => (worker.seconds_silent < 2 ? "now" : `${duration(worker.seconds_silent)} ago`);

/** The measurements of a worker's graphics card; empty if none is known. */
export function sensorsOf({ sensors }) {
  const values = sensors ? [[sensors.celsius, "°C"], [sensors.watts, "W"], [sensors.megahertz, "MHz"]] : [];
  return values.filter(([value]) => value !== null).map((value) => value.join(" ")).join(", ");
}

/** The part that a worker is counting, as a text and a link; `null` if it is idle. */
export function countingOf({ counting }) {
  if (!counting) return null;
  const { job, part, from } = counting;
  return {
    text: `job ${job}, part ${part}`,
    href: `/jobs/${job}/parts/${part}?subproblem=${from}`,
  };
}

/** Executes an action on all workers of a name, and shows the result. */
export async function change(line, name, what, then) {
  await attempt(line, () => post(`workers/${what}`, { name }), `Workers named ${name}: ${what} is done.`);
  then();
}

/** The buttons for all workers of a name, with the line that shows their results; calls `then` after each action. */
export function workerActions(then) {
  let name;
  const line = h("p", { className: "said", role: "status" });
  const action = (text, what, question, look) => button(text, async () => {
    if (!question || await ask(question(name), text, look)) change(line, name, what, then);
  }, "calm");
  const drain = action("Drain", "drain", (name) => `Drain all workers named ${name}? They report what they have counted and end.`);
  const block = action("Block", "block", (name) => `Block the name ${name}? Its workers get no leases, now and after reconnecting.`, "danger");
  const unblock = action("Unblock", "unblock");
  return {
    element: h("div", {}, h("div", { className: "actions" }, drain, block, unblock), line),
    show(now, isBlocked) {
      name = now;
      block.hidden = isBlocked;
      unblock.hidden = !isBlocked;
      for (const [one, what] of [[drain, "Drain"], [block, "Block"], [unblock, "Unblock"]]) one.setAttribute("aria-label", `${what} ${name}`);
    },
    /** Hides the drain button if no worker has the name. */
    drainable(is) { drain.hidden = !is; },
  };
}
