// Lists with a search, a filter by state, an order and pages, all kept in the page's address.

import { $, get, grouped, repeat, say } from "./page.js";

/** Entries of a page. */
const PAGE = 50;

/** The query's keys, the same in the page's address and in the API. */
const KEYS = ["search", "state", "sort", "reverse", "offset"];

/**
 * Shows a list of the API, as selected by its controls and column headings, and reloads it regularly.
 *
 * `path` is the list's path, `order` its default order, `one` and `many` are the name of an entry, and `show` shows an
 * answer. Returns a function that reloads at once.
 */
export function makeList({ path, order, one, many, show }) {
  const given = new URLSearchParams(location.search);
  const asked = Object.fromEntries(KEYS.map((key) => [key, given.get(key) ?? ""]));
  const offset = () => Math.max(Number.parseInt(asked.offset, 10) || 0, 0);
  const headings = [...document.querySelectorAll("#list th[data-sort]")];
  let total = 0, load = () => {};

  const query = () => new URLSearchParams(KEYS.filter((key) => asked[key] !== "").map((key) => [key, asked[key]]));
  const marks = () => {
    for (const heading of headings) {
      const first = heading.dataset.first ?? "ascending", other = first === "ascending" ? "descending" : "ascending";
      if (heading.dataset.sort !== (asked.sort || order)) heading.removeAttribute("aria-sort");
      else heading.setAttribute("aria-sort", asked.reverse === "true" ? other : first);
    }
  };
  const ask = (changes) => {
    Object.assign(asked, changes);
    history.replaceState(null, "", query().size ? `?${query()}` : location.pathname);
    marks();
    load();
  };

  for (const heading of headings) {
    heading.querySelector("button").addEventListener("click", () => {
      const { sort } = heading.dataset, isNow = sort === (asked.sort || order);
      // The column's first order, then the reverse, then the default order.
      if (!isNow) ask({ sort: sort === order ? "" : sort, reverse: "", offset: "" });
      else if (asked.reverse !== "true") ask({ reverse: "true", offset: "" });
      else ask({ sort: "", reverse: "", offset: "" });
    });
  }
  const [search, state] = [$("search"), $("state")];
  search.value = asked.search;
  state.value = asked.state;
  $("find").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", () => ask({ search: search.value.trim(), offset: "" }));
  state.addEventListener("change", () => ask({ state: state.value, offset: "" }));
  $("all").addEventListener("click", () => {
    search.value = state.value = "";
    ask({ search: "", state: "", offset: "" });
    search.focus();
  });
  const turn = (to) => ask({ offset: to > 0 ? String(to) : "" });
  $("previous").addEventListener("click", () => turn(offset() - PAGE));
  $("next").addEventListener("click", () => turn(offset() + PAGE));

  const tell = (answer) => {
    total = answer.total;
    if (total > 0 && offset() >= total) return turn(Math.floor((total - 1) / PAGE) * PAGE);
    const isSearched = asked.search !== "" || asked.state !== "";
    const count = `${grouped(total)} ${total === 1 ? one : many}`;
    say($("found"), isSearched ? `${count} found` : total ? count : "");
    $("all").hidden = !isSearched;
    $("none").hidden = total > 0 || isSearched;
    $("find").classList.toggle("idle", total === 0 && !isSearched);
    $("list").hidden = total === 0;
    say($("shown"), total ? `${grouped(offset() + 1)} to ${grouped(Math.min(offset() + PAGE, total))} of ${grouped(total)}` : "");
    $("previous").disabled = offset() === 0;
    $("next").disabled = offset() + PAGE >= total;
    $("pages").hidden = total <= PAGE;
    show(answer);
  };
  marks();
  load = repeat(1, async () => {
    const refused = $("refused");
    try {
      // A query that changed meanwhile makes the answer obsolete.
      let now;
      do {
        now = String(query());
        const parameters = query();
        parameters.set("sort", asked.sort || order);
        parameters.set("limit", PAGE);
        const answer = await get(`${path}?${parameters}`);
        if (now === String(query())) tell(answer);
      } while (now !== String(query()));
      refused.hidden = true;
    } catch (error) {
      refused.hidden = false;
      say(refused, `The list can't be shown: ${error.message}`);
    }
  });
  return load;
}

/** Synchronizes a table's rows with `entries`; `make` makes a row, whose `show` updates it. */
export function makeRows(body, key, make) {
  const rows = new Map();
  return (entries, ...more) => {
    const wanted = new Set(entries.map(key));
    for (const [id, row] of rows) {
      if (!wanted.has(id)) {
        row.element.remove();
        rows.delete(id);
      }
    }
    entries.forEach((entry, at) => {
      const id = key(entry);
      if (!rows.has(id)) rows.set(id, make(id));
      const row = rows.get(id);
      row.show(entry, ...more);
      // Moving a row would take the focus from its buttons.
      if (body.children[at] !== row.element) body.insertBefore(row.element, body.children[at] ?? null);
    });
  };
}
