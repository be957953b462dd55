// What is said of a worker, and what operators can do about all of a name.

import { ask, attempt, duration, h, post } from "./page.js";

/** The page of a name. */
export const workerPage = (name) => `/workers/${encodeURIComponent(name)}`;

export const stateOf = (worker) => (worker.connected ? worker.state : `${worker.state}, not connected`);

export const isTroubled = (worker) => worker.state !== "ready" || !worker.connected;

export const heardOf = (worker) => (worker.seconds_silent < 2 ? "now" : `${duration(worker.seconds_silent)} ago`);

/** What it is counting, in words and where that is shown; nothing if it counts nothing. */
export function countingOf({ counting }) {
  if (!counting) return null;
  const { job, method, cross, from } = counting;
  return {
    text: `job ${job}, ${method === "search" ? "cross" : "part"} ${cross}`,
    href: `/jobs/${job}/crosses/${cross}?subproblem=${from}`,
  };
}

/** Decides something about all workers of a name, and says how it went on a line. */
export async function change(line, name, what, then) {
  await attempt(line, () => post(`workers/${what}`, { name }), `Workers named ${name}: ${what} is done.`);
  then();
}

/** The buttons for all workers of a name; `then` is called after each decision. */
export function workerActions(line, then) {
  let name;
  const button = (text, what, question, className) => h("button", {
    type: "button", className, onclick: async () => {
      if (!question || await ask(question(name), text)) change(line, name, what, then);
    },
  }, text);
  const drain = button("Drain", "drain", (name) => `Send all workers named ${name} home? They report what they have counted and end.`);
  const block = button("Block", "block", (name) => `Give workers named ${name} no work, now and whenever they come back?`, "danger");
  const unblock = button("Unblock", "unblock");
  const element = h("div", { className: "actions" }, drain, block, unblock);
  return {
    element,
    show(now, isBlocked) {
      name = now;
      block.hidden = isBlocked;
      unblock.hidden = !isBlocked;
      for (const [one, what] of [[drain, "Drain"], [block, "Block"], [unblock, "Unblock"]]) one.setAttribute("aria-label", `${what} ${name}`);
    },
    /** Nobody can be sent home. */
    drainable(is) { drain.hidden = !is; },
  };
}
