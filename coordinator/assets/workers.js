// The page of all workers.

import { $, fleetText, fleetTroubles, follow, grouped, h, say, speeds, subproblems } from "./page.js";
import { change, countingOf, heardOf, isTroubled, sensorsOf, stateOf, workerActions, workerPage } from "./fleet.js";
import { makeList, makeRows } from "./list.js";

const said = $("said");
let load = () => {};

function makeRow() {
  const cell = (label, ...children) => h("td", { "data-label": label }, h("div", {}, ...children));
  const text = () => h("span", { className: "number" });
  const [build, kernel, threads, pace, heard, recorded] = Array.from({ length: 6 }, text);
  const name = h("a"), state = text(), failure = h("small", { className: "bad" }), sensors = h("small"), span = h("a"), rest = h("small");
  const actions = workerActions(() => load());
  const element = h("tr", {}, cell("Name", name), cell("State", state, failure), cell("Kernel", kernel, sensors), cell("Threads", threads),
    cell("Speed", pace), cell("Counting", span, rest), cell("Last heard", heard), cell("Spans recorded", recorded), cell("Build", build),
    cell("Actions", actions.element));
  const show = (worker, blocked) => {
    say(name, worker.name);
    name.setAttribute("href", workerPage(worker.name));
    say(state, stateOf(worker));
    state.className = isTroubled(worker) ? "warn" : "";
    say(failure, worker.failure ?? "");
    say(build, worker.build);
    say(kernel, worker.kernel);
    say(sensors, sensorsOf(worker));
    say(threads, String(worker.threads));
    say(pace, speeds(worker.speed_by));
    const counting = countingOf(worker);
    say(span, counting?.text ?? "nothing");
    if (counting) span.setAttribute("href", counting.href);
    else span.removeAttribute("href");
    say(rest, counting ? subproblems(worker.counting) : "");
    say(heard, heardOf(worker));
    say(recorded, grouped(worker.recorded));
    actions.show(worker.name, blocked.has(worker.name));
  };
  return { element, show };
}

const showRows = makeRows($("workers"), (worker) => worker.worker, makeRow);

load = makeList({
  path: "workers", order: "name", one: "worker", many: "workers",
  show(answer) {
    showRows(answer.workers, new Set(answer.blocked));
    const names = answer.blocked.join("\n");
    const list = $("blocked");
    if (list.dataset.names === names) return;
    list.dataset.names = names;
    $("blocked-part").hidden = answer.blocked.length === 0;
    list.replaceChildren(...answer.blocked.map((name) => h("li", {}, h("a", { href: workerPage(name) }, name), " ",
      h("button", { type: "button", "aria-label": `Unblock ${name}`, onclick: () => change(said, name, "unblock", load) }, "Unblock"))));
  },
});

follow(({ workers }) => {
  say($("doing"), fleetText(workers));
  say($("troubles"), fleetTroubles(workers));
  $("start").hidden = workers.connected > 0;
});
