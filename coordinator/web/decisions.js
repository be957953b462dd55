// The page of decisions.

import { $, attempt, follow, get, h, repeat } from "./page.js";

let before = null, last = null;

function show({ decisions }) {
  $("none").hidden = decisions.length > 0 || before !== null;
  $("list").hidden = decisions.length === 0;
  last = decisions.at(-1)?.number ?? null;
  $("older").disabled = last === null || last === 1;
  $("latest").disabled = before === null;
  $("decisions").replaceChildren(...decisions.map((one) => {
    const at = new Date(one.at_ms);
    const cell = (label, ...children) => h("td", { "data-label": label }, ...children);
    return h("tr", {},
      cell("When", h("time", { datetime: at.toISOString() }, at.toLocaleString())),
      cell("Who", one.who), cell("Role", one.role || "–"), cell("From", one.peer || "–"),
      cell("What", one.what), cell("Outcome", one.outcome));
  }));
}

// Whoever may not read it is told so.
const load = repeat(5, () => attempt($("said"), async () => show(await get(`decisions${before === null ? "" : `?before=${before}`}`)), ""));
$("older").addEventListener("click", () => { before = last; load(); });
$("latest").addEventListener("click", () => { before = null; load(); });
follow(() => {});
