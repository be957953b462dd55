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
