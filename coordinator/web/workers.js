import { $, ask, attempt, duration, fleetSpeed, follow, get, grouped, h, post, repeat, say, speeds, subproblems } from "./page.js";

const PAGE = 50;
const said = $("said");
const rows = new Map();
let offset = 0, total = 0;

async function change(name, what, question, yes) {
  if (question && !await ask(question, yes)) return;
  await attempt(said, () => post(`workers/${what}`, { name }), `Workers named ${name}: ${what} is done.`);
  load();
}

function makeRow() {
  const cell = (label, ...children) => h("td", { "data-label": label }, h("div", {}, ...children));
  const text = () => h("span", { className: "number" });
  const [name, build, kernel, threads, pace, heard, recorded] = Array.from({ length: 7 }, text);
  const state = text(), failure = h("small", { className: "bad" }), span = h("a"), rest = h("small");
  let worker;
  const button = (label, action, className) => h("button", { type: "button", className, onclick: action }, label);
  const drain = button("Drain", () => change(worker.name, "drain", `Send all workers named ${worker.name} home? They report what they have counted and end.`, "Drain"));
  const block = button("Block", () => change(worker.name, "block", `Give workers named ${worker.name} no work, now and whenever they come back?`, "Block"), "danger");
  const unblock = button("Unblock", () => change(worker.name, "unblock"));
  const element = h("tr", {}, cell("Name", name), cell("State", state, failure), cell("Kernel", kernel), cell("Threads", threads),
    cell("Speed", pace), cell("Counting", span, rest), cell("Last heard", heard), cell("Spans recorded", recorded), cell("Build", build),
    cell("Actions", h("div", { className: "actions" }, drain, block, unblock)));
  const show = (now, blocked) => {
    worker = now;
    say(name, worker.name);
    say(state, worker.connected ? worker.state : `${worker.state}, not connected`);
    state.className = worker.state !== "ready" || !worker.connected ? "warn" : "";
    say(failure, worker.failure ?? "");
    say(build, worker.build);
    say(kernel, worker.kernel);
    say(threads, String(worker.threads));
    say(pace, speeds(worker.speed_by));
    const { counting } = worker;
    say(span, counting ? `job ${counting.job}, ${counting.method === "search" ? "cross" : "part"} ${counting.cross}` : "nothing");
    if (counting) span.setAttribute("href", `/jobs/${counting.job}/crosses/${counting.cross}?subproblem=${counting.from}`);
    else span.removeAttribute("href");
    say(rest, counting ? subproblems(counting) : "");
    say(heard, worker.seconds_silent < 2 ? "now" : `${duration(worker.seconds_silent)} ago`);
    say(recorded, grouped(worker.recorded));
    block.hidden = blocked.has(worker.name);
    unblock.hidden = !block.hidden;
    for (const [one, what] of [[drain, "Drain"], [block, "Block"], [unblock, "Unblock"]]) one.setAttribute("aria-label", `${what} ${worker.name}`);
  };
  return { element, show };
}

function show(answer) {
  total = answer.total;
  if (offset >= total) offset = Math.max(0, Math.floor((total - 1) / PAGE) * PAGE);
  const body = $("workers"), blocked = new Set(answer.blocked), wanted = new Set(answer.workers.map((worker) => worker.worker));
  for (const [id, row] of rows) {
    if (!wanted.has(id)) {
      row.element.remove();
      rows.delete(id);
    }
  }
  answer.workers.forEach((worker, at) => {
    if (!rows.has(worker.worker)) rows.set(worker.worker, makeRow());
    const row = rows.get(worker.worker);
    row.show(worker, blocked);
    if (body.children[at] !== row.element) body.insertBefore(row.element, body.children[at] ?? null);
  });
  $("none").hidden = total > 0;
  $("list").hidden = total === 0;
  say($("shown"), total ? `${grouped(offset + 1)} to ${grouped(Math.min(offset + PAGE, total))} of ${grouped(total)}` : "");
  $("previous").disabled = offset === 0;
  $("next").disabled = offset + PAGE >= total;
  $("pages").hidden = total <= PAGE;
  const names = answer.blocked.join("\n");
  const list = $("blocked");
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    $("blocked-part").hidden = answer.blocked.length === 0;
    list.replaceChildren(...answer.blocked.map((name) => h("li", {}, h("span", {}, name), " ",
      h("button", { type: "button", "aria-label": `Unblock ${name}`, onclick: () => change(name, "unblock") }, "Unblock"))));
  }
}

const load = repeat(1, async () => show(await get(`workers?sort=${$("sort").value}&offset=${offset}&limit=${PAGE}`)));
$("sort").addEventListener("change", load);
$("previous").addEventListener("click", () => { offset = Math.max(0, offset - PAGE); load(); });
$("next").addEventListener("click", () => { if (offset + PAGE < total) offset += PAGE; load(); });

follow(({ workers }) => {
  say($("connected"), grouped(workers.connected));
  say($("threads"), grouped(workers.threads));
  say($("speed"), fleetSpeed(workers));
  for (const state of ["draining", "blocked", "stuck", "failing"]) say($(`n-${state}`), grouped(workers[state]));
});
