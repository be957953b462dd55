// The picture of the solutions' distribution. The coordinator draws it; the page reloads it while a job is counted.

import { $, say } from "./page.js";

/** Milliseconds between two pictures of an open job. */
const ANEW_MS = 30_000;
/** Milliseconds after which a failed picture is loaded again. */
const AGAIN_MS = 2_000;

export function makePicture(id) {
  const image = $("picture"), address = `/api/v1/jobs/${id}/count.svg`;
  let state = null, due = 0;
  $("picture-link").href = address;
  image.addEventListener("error", () => { due = Math.min(due, Date.now() + AGAIN_MS); });
  const why = {
    done: "This board is too small to have parts.",
    cancelled: "Nothing was counted.",
    damaged: "Its stored data are inconsistent.",
  };
  return function show(job) {
    // A small board has no parts, and others have none until the plan is ready.
    const hasParts = job.subproblems !== "0" && job.recorded !== "0";
    image.hidden = !hasParts;
    $("picture-link").hidden = !hasParts;
    $("picture-none").hidden = hasParts;
    say($("picture-none"), why[job.state] ?? (job.subproblems === "0" ? "It appears when the plan is ready." : "It appears when something is counted."));
    const isDone = job.state === "done";
    say($("picture-said"), isDone || !hasParts ? "" : "It names the share that is counted so far.");
    if (!hasParts || document.hidden || (state === job.state && Date.now() < due)) return;
    state = job.state;
    due = isDone ? Infinity : Date.now() + ANEW_MS;
    // An unchanged address would come from the browser's cache.
    image.src = `${address}?${isDone ? "done" : Date.now()}`;
  };
}
