import { $, agreement, countTitle, duration, follow, get, grouped, h, jobActions, partText, pathPart, percent, repeat, say, showEvents, speed, stateText, subproblems, timeLeft } from "./page.js";
import { drawChart } from "./chart.js";
import { makeHeat } from "./heat.js";

const id = pathPart(2);
const actions = jobActions($("said"));
const showHeat = makeHeat(id);
$("actions").append(actions.element);

let method = "search", isDisputed = false;
const unitsTitle = () => (method === "halves" ? "Units of work" : "Nodes");

function show(job) {
  document.title = `${percent(job.fraction)} of job ${id} (n = ${job.n}) – queens`;
  say($("title"), `Job ${id}: ${job.n} queens${job.crosses === null ? "" : `, ${partText(job)}`}`);
  say($("state"), stateText(job));
  say($("method"), job.method);
  $("waits").hidden = job.waits_for === null;
  say($("waits"), job.waits_for === null ? "" : `It waits for ${job.waits_for}.`);
  say($("count-title"), countTitle(job));
  say($("count"), grouped(job.solutions));
  $("fundamental-part").hidden = job.state !== "done" || job.crosses !== null;
  say($("fundamental"), job.fundamental === null ? "being computed" : grouped(job.fundamental));
  const [words, look] = agreement(job);
  say($("agrees"), words);
  $("agrees").className = look;
  say($("share"), `${percent(job.fraction)} (${grouped(job.recorded)} of ${grouped(job.subproblems)} subproblems)`);
  $("bar").value = job.fraction;
  say($("now"), speed(job.nodes_per_second, job.method));
  say($("hour"), speed(job.nodes_per_second_hour, job.method));
  say($("left-title"), job.unchecked === null ? "Time left" : "Left to be checked");
  say($("left"), timeLeft(job));
  say($("counted-for"), duration(job.seconds));
  say($("workers"), grouped(job.workers));
  say($("priority"), String(job.priority));
  method = job.method;
  say($("nodes-title"), unitsTitle());
  say($("nodes"), grouped(job.nodes));
  say($("work-title"), unitsTitle());
  $("unit").hidden = method !== "halves";
  const date = (ms) => ms === null ? "–" : new Date(ms).toLocaleString();
  say($("submitted"), date(job.created_ms));
  say($("begun"), date(job.started_ms));
  say($("end"), job.state === "cancelled" ? "Given up" : "Finished");
  say($("finished"), date(job.finished_ms));
  const worth = job.bound ? `; ${job.state === "done" ? "" : "when it is done: "}${job.bound}` : "";
  say($("checked"), `${grouped(job.verified)} ${job.verified === 1 ? "span" : "spans"} confirmed by a second name${worth}`);
  $("disputes").hidden = job.disputes === null;
  $("disputes").className = job.cases ? "bad" : "warn";
  say($("disputes"), job.disputes === null ? "" : `Disputes: ${job.disputes}.`);
  isDisputed = job.disputed > 0;
  const other = job.second ?? job.second_of;
  $("other-pass").hidden = other === null;
  if (other !== null) {
    const link = h("a", { href: `/jobs/${other}` }, `job ${other}`);
    $("other-pass").replaceChildren(job.second === null ? "This is the second pass of " : "Its second pass is ", link, ".");
  }
  $("doubt").hidden = job.doubt === null;
  say($("doubt"), job.doubt === null ? "" : `In doubt: ${job.doubt}.`);
  $("failure").hidden = !job.failure;
  say($("failure"), job.failure ? `${job.failed} spans failed, ${job.given_up} of them on three workers; last, ${job.failure}` : "");
  actions.show(job);
}

follow((summary) => {
  const job = summary.jobs.find((job) => job.job === id);
  if (job) show(job);
});
let levels = [];
const redraw = () => drawChart($("chart"), levels.find((level) => level.step_seconds === Number($("range").value)), method);
$("range").addEventListener("change", redraw);
addEventListener("resize", redraw);

repeat(1, async () => show(await get(`jobs/${id}`)));
repeat(1, async () => showHeat(await get(`jobs/${id}/cells`)));
repeat(2, async () => showEvents($("events"), (await get(`events?job=${id}&limit=100`)).events));
repeat(5, async () => {
  const { contributions } = await get(`jobs/${id}/contributions?limit=100`);
  $("contributions-none").hidden = contributions.length > 0;
  $("contributions-list").hidden = contributions.length === 0;
  $("contributions").replaceChildren(...contributions.map((one) => h("tr", {},
    h("td", { "data-label": "Worker" }, one.worker), h("td", { "data-label": "Kernel" }, one.kernel),
    h("td", { "data-label": "Spans" }, grouped(one.spans)), h("td", { "data-label": unitsTitle() }, grouped(one.nodes)),
    h("td", { "data-label": "Core-hours" }, (one.core_seconds / 3600).toPrecision(3)), h("td", { "data-label": "Share" }, percent(one.share)))));
});
repeat(2, async () => {
  if (!isDisputed) return;
  const { verdicts } = await get(`jobs/${id}/verdicts?limit=100`);
  $("verdicts-part").hidden = verdicts.length === 0;
  const count = (solutions) => `${grouped(solutions)} solutions`;
  const by = (nodes, worker, kernel) => h("small", {}, `${grouped(nodes)} ${unitsTitle().toLowerCase()}, by ${worker} (${kernel})`);
  $("verdicts").replaceChildren(...verdicts.map((one) => h("tr", {},
    h("td", { "data-label": "Span" }, `part ${grouped(one.cross)}, ${subproblems(one)}`),
    h("td", { "data-label": "Two names agree on" }, h("div", {}, count(one.solutions), by(one.nodes, one.worker, one.kernel))),
    h("td", { "data-label": "What lost" }, h("div", {}, count(one.lost_solutions), by(one.lost_nodes, one.lost_worker, one.lost_kernel))),
    h("td", { "data-label": "Decided" }, new Date(one.at_ms).toLocaleString()))));
  say($("verdicts-more"), verdicts.length < 100 ? "" : `The first 100: 'queens verdicts ${id}' shows more.`);
});
repeat(2, async () => {
  ({ levels } = await get(`jobs/${id}/history`));
  redraw();
});
