// The page of one part of a plan, with its board and its workers.

import { $, follow, get, grouped, h, pathPart, percent, repeat, reveal, say, spans, subproblems, unitsOf } from "./page.js";

const job = pathPart(2), part = pathPart(4);
const asked = new URLSearchParams(location.search).get("subproblem");
const subproblem = asked && /^\d+$/.test(asked) ? `?subproblem=${asked}` : "";
const path = `jobs/${job}/parts/${part}`;
const square = (queen) => `row ${queen.row} column ${queen.column}`;
$("back").href = `/jobs/${job}`;
say($("back"), `job ${job}`);
if (subproblem) $("number").value = asked;

$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const number = new FormData(event.target).get("subproblem");
  location.search = number === "" ? "" : `subproblem=${number}`;
});

async function load() {
  let answer;
  try {
    answer = await get(path + subproblem);
  } catch (error) {
    $("error").hidden = false;
    return say($("error"), error.message);
  }
  $("error").hidden = true;
  const isCross = answer.method === "search";
  const columns = (upper, lower) => `upper half: ${upper.join(" ") || "none"}; lower half: ${lower.join(" ") || "none"}`;
  say($("words"), isCross
    ? "A part of the search is a cross: the queens of the two middle rows and columns. Its weight is the number of crosses that are turned or mirrored images of it. A subproblem is a numbered piece of a part: it fixes further queens, and the kernel, which is the code that counts, places all others."
    : "A part by halves is the queen of the middle row and some columns, each assigned to the upper or the lower half of the board. A subproblem is a numbered piece of a part: it assigns all columns, and fixes the queens next to the middle. Then all pairs of an upper and a lower half that fit are counted.");
  document.title = `part ${part} of job ${job} – queens`;
  say($("title"), `Part ${part} of job ${job}: ${answer.n} queens`);
  $("columns-part").hidden = isCross;
  $("image-part").hidden = !isCross;
  if (!isCross) say($("columns"), answer.prefix_upper ? `${columns(answer.prefix_upper, answer.prefix_lower)} (subproblem ${grouped(asked)})` : columns(answer.upper, answer.lower));
  const queens = answer.counted.map(square).join(", ");
  const prefix = answer.prefix?.length ? `; the subproblem's queens at ${answer.prefix.map(square).join(", ")}` : "";
  const board = $("board");
  const marked = isCross ? "" : `; the columns of each half are marked: ${columns(answer.prefix_upper ?? answer.upper, answer.prefix_lower ?? answer.lower)}`;
  board.alt = `A board of ${answer.n} rows with the part's queens at ${queens || "no square"}${prefix}${marked}`;
  if (!board.getAttribute("src")) board.src = `/api/v1/${path}/board.svg${subproblem}`;
  if (!isCross) say($("caption"), answer.prefix
    ? `Blue: the columns of the upper half, one queen in each. Violet: those of the lower half.${answer.prefix.length ? ` Green: the queens that subproblem ${grouped(asked)} fixes.` : ""}`
    : "Blue: known columns of the upper half. Violet: known columns of the lower half.");
  else say($("caption"), answer.prefix
    ? `Brown and light squares: the queens of the cross. Green: the queens that subproblem ${grouped(asked)} fixes.`
    : "The queens of the cross, on the counted image.");
  say($("queens"), answer.queens.map(square).join(", ") || (isCross ? "none: the board is too small" : "none: there is no middle row"));
  say($("image"), answer.image);
  if (!isCross) say($("weight"), `${answer.weight}: each counted solution represents ${answer.weight} symmetric ones`);
  else say($("weight"), `${answer.weight}: it represents ${answer.weight === 1 ? "only itself" : `${answer.weight} crosses`}`);
  say($("done"), `${percent(answer.fraction)} (${grouped(answer.recorded)} of ${grouped(answer.subproblems)} subproblems)`);
  $("bar").value = answer.fraction;
  if (!isCross) say($("depth"), ["no queens, only columns", "the queen of the row below the middle", "the queens of the rows on both sides of the middle", "the queens of the row above the middle and of two rows below"][answer.depth] ?? String(answer.depth));
  else say($("depth"), answer.depth === 0 ? "no further queen: the cross is counted as a whole" : answer.depth === 1 ? "the queen of the first free row" : `the queens of the first ${answer.depth} free rows`);
  say($("work"), `${grouped(answer.estimated_work)} ${unitsOf(answer.method)}`);
  say($("nodes-title"), isCross ? "Nodes counted" : "Units of work counted");
  say($("nodes"), grouped(answer.work));
  say($("solutions"), `${grouped(answer.solutions)} × ${answer.weight} = ${grouped(BigInt(answer.solutions) * BigInt(answer.weight))}`);
  $("number").max = String(Math.max(0, answer.subproblems - 1));
  const { workers } = answer;
  $("workers").replaceChildren(...(workers.length ? workers.slice(0, 20).map((worker) =>
    h("li", {}, `${worker.name}: ${subproblems(worker)}`)) : [h("li", { className: "quiet" }, answer.fraction === 1 ? "none: all of it is counted" : "none now")]));
  const { counted_by: countedBy } = answer;
  if (countedBy === null) return;
  $("counted-by").replaceChildren(...(countedBy.length ? countedBy.slice(0, 20).map((one) =>
    h("li", {}, `${one.worker} (${one.kernel}): ${spans(one)}, ${percent(one.share)} of the work`)) : [h("li", { className: "quiet" }, "none yet")]));
}

const isThere = reveal("part");
repeat(3, () => load().finally(() => isThere("part")));
follow(() => {});
