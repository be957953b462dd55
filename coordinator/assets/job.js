// The page of one job.

import { $, agreement, countTitle, duration, follow, get, grouped, h, isOver, jobActions, moment, partText, pathPart, percent, repeat, reveal, say, showEvents, speed, subproblems, timeLeft, took } from "./page.js";
import { drawChart, throughput } from "./chart.js";
import { makeHeat } from "./heat.js";
import { makePicture } from "./picture.js";

const id = pathPart(2);
const actions = jobActions();
const showHeat = makeHeat(id);
const showPicture = makePicture(id);
$("actions").append(actions.element);
const isThere = reveal("job", "map", "events", "counters", "curve");

let method = "search", isDisputed = false, hasMap = false;
const unitsTitle = () => (method === "halves" ? "Units of work" : "Nodes");

/** Hides the elements that do not apply to a finished or to an open job. */
function leaveOut(job) {
  const isDone = job.state === "done";
  for (const element of document.querySelectorAll("[data-when]")) {
    element.hidden = !{ done: isDone, open: !isDone, over: isOver(job) }[element.dataset.when];
  }
  // Nothing else is known of a damaged job.
  $("share-part").hidden = isDone || job.state === "damaged";
  $("map").hidden = job.state === "damaged";
  const others = job.part_range === null ? "" : ", or the job excludes the part";
  say($("heat-blank"), job.method === "search"
    ? `blank: such queens attack each other, or a rotated or mirrored image is counted instead${others}` : `blank: no part${others}`);
}

function show(job) {
  const isDone = job.state === "done";
  document.title = `${isDone ? "Counted:" : job.state === "damaged" ? "Damaged:" : `${percent(job.fraction)} of`} job ${id} (n = ${job.n}) – queens`;
  leaveOut(job);
  showPicture(job);
  say($("title"), `Job ${id}: ${job.n} queens${job.part_range === null ? "" : `, ${partText(job)}`}`);
  say($("state"), job.state_text);
  say($("method"), job.method);
  $("waits").hidden = job.waits_for === null;
  say($("waits"), job.waits_for === null ? "" : `The job waits for ${job.waits_for}.`);
  say($("count-title"), countTitle(job));
  say($("count"), grouped(job.solutions));
  $("fundamental-part").hidden = job.state !== "done" || job.part_range !== null;
  say($("fundamental"), job.fundamental === null ? "being computed" : grouped(job.fundamental));
  const [words, look] = agreement(job);
  say($("agrees"), words);
  $("agrees").className = look;
  say($("took"), took(job.seconds));
  say($("mean"), job.seconds > 0 ? speed(Number(job.work) / job.seconds, job.method) : "–");
  say($("subproblems"), grouped(job.subproblems));
  say($("share"), `${percent(job.fraction)} of the work is done: ${grouped(job.recorded)} of ${grouped(job.subproblems)} subproblems`);
  $("bar").value = job.fraction;
  say($("now"), speed(job.work_per_second, job.method));
  say($("hour"), speed(job.work_per_second_hour, job.method));
  say($("left-title"), job.unchecked === null ? "Time left" : "Left to verify");
  say($("left"), timeLeft(job));
  say($("counted-for"), duration(job.seconds));
  say($("workers"), grouped(job.workers));
  say($("priority"), String(job.priority));
  method = job.method;
  say($("nodes-title"), unitsTitle());
  say($("nodes"), grouped(job.work));
  say($("work-title"), unitsTitle());
  $("unit").hidden = method !== "halves";
  say($("submitted"), moment(job.created_ms));
  say($("begun"), moment(job.started_ms));
  const end = job.state === "cancelled" ? "Cancelled" : "Finished", last = ["finished_ms", "started_ms", "created_ms"].find((time) => job[time] !== null);
  say($("end"), end);
  say($("finished"), moment(job.finished_ms));
  say($("when-title"), { finished_ms: end, started_ms: "Started", created_ms: "Submitted" }[last]);
  say($("when"), moment(job[last]));
  // The certificate of the first pass has both.
  $("certificate").hidden = !isDone || job.second_of !== null;
  $("download").href = `/api/v1/jobs/${id}/certificate`;
  say($("check"), `queens check q${job.n}-job-${id}.certificate`);
  say($("proof"), job.proof ?? "When the job is done, a certificate proves its number to everybody.");
  const by = job.recount_by === null ? "" : `; only ${job.recount_by} recounts`;
  $("checked").hidden = job.recount === 0 && job.verified === 0;
  say($("checked"), `${grouped(job.verified)} ${job.verified === 1 ? "span" : "spans"} confirmed by a second party${by}`);
  say($("identity"), job.identity);
  $("disputes").hidden = job.disputes === null;
  $("disputes").className = job.cases ? "bad" : "warn";
  say($("disputes"), job.disputes === null ? "" : `Disputes: ${job.disputes}.`);
  isDisputed = job.disputed > 0;
  // Without a plan, there is no map to wait for.
  const hadMap = hasMap;
  hasMap = Number(job.subproblems) > 0;
  if (!hasMap) isThere("map");
  else if (!hadMap) showMap();
  const other = job.second ?? job.second_of;
  $("other-pass").hidden = other === null;
  if (other !== null) {
    const link = h("a", { href: `/jobs/${other}` }, `job ${other}`);
    $("other-pass").replaceChildren(...(job.second === null ? ["This is the second pass of ", link, ", whose certificate has both."] : ["Its second pass is ", link, "."]));
  }
  $("mismatch").hidden = job.pass_mismatch === null;
  say($("mismatch"), job.pass_mismatch === null ? "" : `Mismatch: ${job.pass_mismatch}.`);
  $("failure").hidden = !job.failure;
  say($("failure"), job.state === "damaged" ? `Its stored data are inconsistent: ${job.failure}` : job.failure ? `${job.failed} spans failed, ${job.given_up} of them on all connected workers that may try them; last failure: ${job.failure}` : "");
  actions.show(job);
}

let isInStream = false;
follow((summary) => {
  const job = summary.jobs.find((job) => job.job === id);
  isInStream = job !== undefined;
  if (job) show(job);
  if (job) isThere("job");
});
/** Core-hours, with three digits from a hundredth on. */
const coreHours = (seconds) => {
  const hours = seconds / 3600;
  return hours >= 100 ? grouped(Math.round(hours)) : hours >= 0.01 ? hours.toPrecision(3) : "under 0.01";
};

let curve;
const redraw = () => drawChart($("chart"), curve, throughput(method));
addEventListener("resize", redraw);

const showMap = repeat(1, async () => {
  if (hasMap) await get(`jobs/${id}/cells`).then(showHeat).finally(() => isThere("map"));
});
// The stream has only the first jobs.
repeat(1, async () => {
  if (!isInStream) show(await get(`jobs/${id}`));
  isThere("job");
});
repeat(2, async () => { showEvents($("events"), (await get(`events?job=${id}&limit=100`)).events); isThere("events"); });
repeat(5, async () => {
  const { contributions, total, core_seconds: coreSeconds } = await get(`jobs/${id}/contributions?limit=100`);
  $("contributions-none").hidden = contributions.length > 0;
  $("contributions-list").hidden = contributions.length === 0;
  $("contributions").replaceChildren(...contributions.map((one) => h("tr", {},
    h("td", { "data-label": "Worker" }, one.worker), h("td", { "data-label": "Kernel" }, one.kernel),
    h("td", { "data-label": "Spans" }, grouped(one.spans)), h("td", { "data-label": unitsTitle() }, grouped(one.work)),
    h("td", { "data-label": "Core-hours" }, coreHours(one.core_seconds)), h("td", { "data-label": "Share" }, percent(one.share)))));
  say($("core-hours"), coreSeconds < 36 ? `${Number(coreSeconds.toPrecision(2))} core-seconds` : `${coreHours(coreSeconds)} core-hours`);
  say($("counters"), `${grouped(total)} ${total === 1 ? "worker" : "workers"}`);
  isThere("counters");
  $("contributions-more").hidden = total === contributions.length;
  say($("contributions-more"), `These ${contributions.length} of ${grouped(total)} workers have the most work. 'queens contributions ${id}' shows all.`);
});
repeat(2, async () => {
  if (!isDisputed) return;
  const { verdicts } = await get(`jobs/${id}/verdicts?limit=100`);
  $("verdicts-part").hidden = verdicts.length === 0;
  const count = (solutions) => `${grouped(solutions)} solutions`;
  const by = (work, worker, kernel) => h("small", {}, `${grouped(work)} ${unitsTitle().toLowerCase()}, by ${worker} (${kernel})`);
  $("verdicts").replaceChildren(...verdicts.map((one) => h("tr", {},
    h("td", { "data-label": "Span" }, `part ${grouped(one.part)}, ${subproblems(one)}`),
    h("td", { "data-label": "Count of two names" }, h("div", {}, count(one.solutions), by(one.work, one.worker, one.kernel))),
    h("td", { "data-label": "Rejected count" }, h("div", {}, count(one.lost_solutions), by(one.lost_work, one.lost_worker, one.lost_kernel))),
    h("td", { "data-label": "Decided" }, new Date(one.at_ms).toLocaleString()))));
  say($("verdicts-more"), verdicts.length < 100 ? "" : `These are the first 100. 'queens verdicts ${id}' shows more.`);
});
repeat(2, async () => {
  curve = await get(`jobs/${id}/history`);
  redraw();
  isThere("curve");
});
