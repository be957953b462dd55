// The audit log: who did what, and who was refused.

import { $, follow, get, h, repeat, say } from "./page.js";

let before = null, last = null;

function show({ audit_entries: entries }) {
  $("none").hidden = entries.length > 0 || before !== null;
  $("list").hidden = entries.length === 0;
  last = entries.at(-1)?.number ?? null;
  $("older").disabled = last === null || last === 1;
  $("latest").disabled = before === null;
  $("audit-entries").replaceChildren(...entries.map((one) => {
    const at = new Date(one.at_ms);
    const cell = (label, ...children) => h("td", { "data-label": label }, ...children);
    return h("tr", {},
      cell("When", h("time", { datetime: at.toISOString() }, at.toLocaleString())),
      cell("Who", h("div", {}, one.who, h("small", { className: "narrow" }, [one.role, one.peer && `from ${one.peer}`].filter(Boolean).join(", ")))), cell("Role", one.role || "–"), cell("From", one.peer || "–"),
      cell("What", one.what), cell("Outcome", one.outcome));
  }));
}

// A caller without permission gets an error message and no page buttons.
const load = repeat(5, async () => {
  try {
    const query = new URLSearchParams({ refusals: $("refusals").checked });
    if (before !== null) query.set("before", before);
    show(await get(`audit?${query}`));
    say($("said"), "");
  } catch (error) {
    say($("said"), error.message);
  }
  $("turn").hidden = last === null;
});
$("refusals").addEventListener("change", () => { before = null; load(); });
$("older").addEventListener("click", () => { before = last; load(); });
$("latest").addEventListener("click", () => { before = null; load(); });
follow(() => {});
