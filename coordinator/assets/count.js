// Counts a board in this browser, and shows progress and result.

import { $, duration, grouped, say } from "./page.js";

let worker = null;

function stop() {
  worker?.terminate();
  worker = null;
  $("count").textContent = "Count";
  $("count-progress").hidden = true;
}

function hear({ data: { n, share, solutions, seconds, error } }) {
  $("count-progress").value = share ?? 0;
  if (error) say($("counted"), `This browser can't count: ${error}.`);
  if (solutions) {
    const time = seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : duration(seconds);
    say($("counted"), `Q(${n}) = ${grouped(solutions)}, counted in ${time} by one thread of this browser.`);
  }
  if (error || solutions) stop();
}

$("count-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (worker) {
    say($("counted"), "Stopped.");
    return stop();
  }
  worker = new Worker("/assets/count-worker.js");
  worker.addEventListener("message", hear);
  worker.addEventListener("error", () => hear({ data: { error: "its program was not loaded" } }));
  worker.postMessage(Number($("count-n").value));
  $("count").textContent = "Stop";
  $("count-progress").hidden = false;
  $("count-progress").value = 0;
  say($("counted"), "Counting.");
});
