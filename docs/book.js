// Debian's mdBook comes without the script of this name. What of it the pages need: colours in blocks of code, and the
// button that shows and hides the contents. Light or dark is as the system has it.
"use strict";

const isLight = document.documentElement.classList.contains("light");
document.getElementById("highlight-css").disabled = !isLight;
document.getElementById("tomorrow-night-css").disabled = isLight;
document.getElementById("ayu-highlight-css").disabled = true;

for (const block of document.querySelectorAll("pre code")) {
  if (/language-(sh|toml|rust|json|ini|nginx)\b/.test(block.className)) {
    hljs.highlightBlock(block);
  } else {
    block.classList.add("hljs");
  }
}

const toggle = document.getElementById("sidebar-toggle-anchor");
toggle.addEventListener("change", () => {
  const state = toggle.checked ? "visible" : "hidden";
  document.documentElement.classList.remove("sidebar-visible", "sidebar-hidden");
  document.documentElement.classList.add(`sidebar-${state}`);
  document.getElementById("sidebar-toggle").setAttribute("aria-expanded", toggle.checked);
  document.getElementById("sidebar").setAttribute("aria-hidden", !toggle.checked);
  for (const link of document.querySelectorAll("#sidebar a")) {
    link.tabIndex = toggle.checked ? 0 : -1;
  }
  try {
    localStorage.setItem("mdbook-sidebar", state);
  } catch {
    // It is forgotten then.
  }
});

// Counts a board in the browser where a page has a place for it, by the program of the web page /board. Browsers run it
// only for pages that a server sends.
const place = document.getElementById("count-here");
if (place && location.protocol.startsWith("http")) {
  place.innerHTML = `<form><label>Queens (n), 1 to 16: <input type="number" min="1" max="16" value="12" required></label>
    <button>Count</button> <output></output></form>`;
  place.hidden = false;
  const [form, output] = [place.querySelector("form"), place.querySelector("output")];
  let worker = null;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    worker?.terminate();
    worker = new Worker(`${path_to_root}count-worker.js`);
    worker.addEventListener("message", ({ data: { n, share, solutions, seconds, error } }) => {
      if (error) output.textContent = `This browser can't count: ${error}.`;
      else if (solutions) output.textContent = `Q(${n}) = ${solutions}, counted in ${seconds.toFixed(3)} s by one thread of this browser.`;
      else output.textContent = `${Math.floor(100 * share)} %`;
    });
    worker.addEventListener("error", () => { output.textContent = "This browser can't count: its program was not loaded."; });
    worker.postMessage(Number(form.querySelector("input").value));
    output.textContent = "Counting.";
  });
}
