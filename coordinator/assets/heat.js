// The map of a job's parts as a table of buttons, whose rows and columns depend on the method.

import { $, get, grouped, h, percent, say } from "./page.js";

export function makeHeat(job) {
  const buttons = new Map();
  let cells = new Map(), chosen, map, nRows = 0, nColumns = 0;
  /** Describes the rows and columns of the table. */
  const axes = () => {
    if (map.method === "search") return { down: `the column of the queen on row ${map.lines[0]}`, across: `the column of the queen on row ${map.lines[1]}` };
    const across = "parts in the order of their columns, first those whose upper half has the central ones";
    return { down: map.n % 2 ? `the column of the queen on row ${(map.n - 1) / 2}` : "the same order, line by line", across };
  };
  const place = ({ first, second }) => (map.method === "search" ? `columns ${first} and ${second}` : `row ${first} and column ${second} of the map`);
  const describe = (cell) => `${place(cell)}: ${percent(cell.fraction)} done, `
    + `${grouped(cell.recorded)} of ${grouped(cell.subproblems)} subproblems in ${cell.parts} ${cell.parts === 1 ? "part" : "parts"}`;
  const key = (first, second) => `${first},${second}`;

  function build(answer) {
    const end = (numbers) => 1 + Math.max(...numbers);
    [nRows, nColumns] = map.method === "search" ? [map.n, map.n] : [end(answer.cells.map((cell) => cell.first)), end(answer.cells.map((cell) => cell.second))];
    const used = new Set(answer.cells.map((cell) => key(cell.first, cell.second)));
    // With many columns, a number of two digits takes the width of two.
    const label = (column) => (nColumns > 24 && column % 2 ? "" : String(column));
    const head = h("tr", {}, h("td"), ...[...Array(nColumns).keys()].map((column) => h("th", { scope: "col", "aria-label": String(column) }, label(column))));
    const rows = [...Array(nRows).keys()].map((first) => h("tr", {}, h("th", { scope: "row" }, String(first)), ...[...Array(nColumns).keys()].map((second) => {
      if (!used.has(key(first, second))) return h("td");
      const button = h("button", { type: "button", tabindex: "-1", "aria-pressed": "false" });
      button.addEventListener("focus", () => point(first, second));
      button.addEventListener("pointerenter", () => point(first, second));
      button.addEventListener("click", () => choose(first, second));
      button.addEventListener("keydown", (event) => move(event, first, second));
      buttons.set(key(first, second), button);
      return h("td", {}, button);
    })));
    const { down, across } = axes();
    const caption = h("caption", { className: "quiet" }, `${across[0].toUpperCase()}${across.slice(1)} →`);
    $("heat").replaceChildren(h("table", { "aria-label": `Share done, by ${down} (down) and by ${across} (across)` }, caption, h("thead", {}, head), h("tbody", {}, ...rows)));
    say($("heat-rows"), `Down: ${down}; across: ${across}. Rows and columns are counted from 0.`);
    const first = buttons.values().next().value;
    if (first) first.tabIndex = 0;
  }

  function point(first, second) {
    const cell = cells.get(key(first, second));
    if (cell) say($("heat-cell"), `${map.method === "search" ? "Queens in " : ""}${describe(cell)}`);
  }

  /** Arrow keys skip to the next existing cell; only one cell is in the tab order. */
  function move(event, first, second) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    for (let [row, column] = [first + step[0], second + step[1]]; row >= 0 && row < nRows && column >= 0 && column < nColumns; row += step[0], column += step[1]) {
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
    const { parts, total } = await get(`jobs/${job}/parts?first=${first}&second=${second}&limit=200`);
    const square = (queen) => `${queen.row}:${queen.column}`;
    const halves = (part) => (part.upper === null ? "" : `upper half: ${part.upper.join(" ") || "any"}; lower half: ${part.lower.join(" ") || "any"}`);
    $("parts").replaceChildren(...parts.map((part) => h("tr", {},
      h("td", { "data-label": "Part" }, h("a", { href: `/jobs/${job}/parts/${part.part}` }, `part ${part.part}`)),
      h("td", { "data-label": "Queens" }, [part.queens.map(square).join("  "), halves(part)].filter(Boolean).join("; ")),
      h("td", { "data-label": "Weight" }, String(part.weight)),
      h("td", { "data-label": "Done" }, percent(part.fraction)),
      h("td", { "data-label": "Solutions" }, grouped(part.solutions)))));
    $("part-list").hidden = false;
    say($("parts-title"), `${map.method === "search" ? "Parts with the central queens in" : "Parts in"} ${place({ first, second })}${total > parts.length ? ` (${parts.length} of ${total})` : ""}`);
  }

  return function show(answer) {
    map = answer;
    if (answer.cells.length === 0) return say($("heat-rows"), "This board is too small to have parts.");
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
