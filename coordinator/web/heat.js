// The map of a job's crosses: a table of buttons, which has its names for rows and columns of its own.

import { $, get, grouped, h, percent, say } from "./page.js";

const describe = (cell) => `columns ${cell.first} and ${cell.second}: ${percent(cell.fraction)} done, `
  + `${grouped(cell.recorded)} of ${grouped(cell.subproblems)} subproblems in ${cell.crosses} ${cell.crosses === 1 ? "cross" : "crosses"}`;

export function makeHeat(job) {
  const buttons = new Map();
  let cells = new Map(), chosen, n;
  const key = (first, second) => `${first},${second}`;

  function build(answer) {
    n = answer.n;
    const numbers = [...Array(n).keys()];
    const used = new Set(answer.cells.map((cell) => key(cell.first, cell.second)));
    const head = h("tr", {}, h("td"), ...numbers.map((column) => h("th", { scope: "col" }, String(column))));
    const rows = numbers.map((first) => h("tr", {}, h("th", { scope: "row" }, String(first)), ...numbers.map((second) => {
      if (!used.has(key(first, second))) return h("td");
      const button = h("button", { type: "button", tabindex: "-1", "aria-pressed": "false" });
      button.addEventListener("focus", () => point(first, second));
      button.addEventListener("pointerenter", () => point(first, second));
      button.addEventListener("click", () => choose(first, second));
      button.addEventListener("keydown", (event) => move(event, first, second));
      buttons.set(key(first, second), button);
      return h("td", {}, button);
    })));
    const caption = h("caption", { className: "quiet" }, `Column of the queen on row ${answer.lines[1]} →`);
    $("heat").replaceChildren(h("table", { "aria-label": `Share done, by the column of the queen on row ${answer.lines[0]} (down) and on row ${answer.lines[1]} (across)` }, caption, h("thead", {}, head), h("tbody", {}, ...rows)));
    say($("heat-rows"), `Down: the column of the queen on row ${answer.lines[0]}; across: on row ${answer.lines[1]}. Rows and columns are counted from 0.`);
    const first = buttons.values().next().value;
    if (first) first.tabIndex = 0;
  }

  function point(first, second) {
    const cell = cells.get(key(first, second));
    if (cell) say($("heat-cell"), `Queens in ${describe(cell)}`);
  }

  /** Arrow keys go to the next cell that there is; only one cell is in the order of tabs. */
  function move(event, first, second) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    for (let [row, column] = [first + step[0], second + step[1]]; row >= 0 && row < n && column >= 0 && column < n; row += step[0], column += step[1]) {
      const next = buttons.get(key(row, column));
      if (next) {
        for (const button of buttons.values()) button.tabIndex = -1;
        next.tabIndex = 0;
        return next.focus();
      }
    }
  }

  async function choose(first, second) {
    chosen = key(first, second);
    for (const [at, button] of buttons) button.setAttribute("aria-pressed", String(at === chosen));
    const { crosses, total } = await get(`jobs/${job}/crosses?first=${first}&second=${second}&limit=200`);
    const square = (queen) => `${queen.row}:${queen.column}`;
    $("crosses").replaceChildren(...crosses.map((cross) => h("tr", {},
      h("td", { "data-label": "Cross" }, h("a", { href: `/jobs/${job}/crosses/${cross.cross}` }, `cross ${cross.cross}`)),
      h("td", { "data-label": "Queens" }, cross.queens.map(square).join("  ")),
      h("td", { "data-label": "Weight" }, String(cross.weight)),
      h("td", { "data-label": "Done" }, percent(cross.fraction)),
      h("td", { "data-label": "Solutions" }, grouped(cross.solutions)))));
    $("cross-list").hidden = false;
    say($("crosses-title"), `Crosses with the central queens in columns ${first} and ${second}${total > crosses.length ? ` (${crosses.length} of ${total})` : ""}`);
  }

  return function show(answer) {
    if (!answer.lines || answer.cells.length === 0) return say($("heat-rows"), "So small a board has no crosses to show.");
    if (buttons.size === 0) build(answer);
    cells = new Map(answer.cells.map((cell) => [key(cell.first, cell.second), cell]));
    for (const [at, cell] of cells) {
      const button = buttons.get(at);
      if (!button || button.dataset.recorded === cell.recorded) continue;
      button.dataset.recorded = cell.recorded;
      button.style.setProperty("--share", String(cell.fraction));
      button.classList.toggle("begun", cell.recorded !== "0" && cell.fraction < 1);
      button.setAttribute("aria-label", describe(cell));
    }
  };
}
