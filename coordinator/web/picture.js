// The picture of where the solutions are: drawn by the coordinator, asked for anew while a job is counted.

import { $, say } from "./page.js";

/** Milliseconds between two pictures of a job that goes on. */
const ANEW_MS = 30_000;
/** Milliseconds after which a picture that did not come is asked for again. */
const AGAIN_MS = 2_000;

export function makePicture(id) {
  const image = $("picture"), address = `/api/v1/jobs/${id}/count.svg`;
  let state = null, due = 0;
  $("picture-link").href = address;
  image.addEventListener("error", () => { due = Math.min(due, Date.now() + AGAIN_MS); });
  const why = {
    done: "So small a board has no parts to show.",
    cancelled: "Nothing of it was counted.",
    damaged: "What is stored of it contradicts itself.",
  };
  return function show(job) {
    // So small a board has no parts, and another has none until its plan is made.
    const hasParts = job.subproblems !== "0";
    image.hidden = !hasParts;
    $("picture-link").hidden = !hasParts;
    $("picture-none").hidden = hasParts;
    say($("picture-none"), why[job.state] ?? "It is drawn when the plan is made.");
    const isDone = job.state === "done";
    say($("picture-said"), isDone || !hasParts ? "" : "It says how much is counted so far.");
    if (!hasParts || document.hidden || (state === job.state && Date.now() < due)) return;
    state = job.state;
    due = isDone ? Infinity : Date.now() + ANEW_MS;
    // The same address shows what the browser has already.
    image.src = `${address}?${isDone ? "done" : Date.now()}`;
  };
}
