// The buttons that copy the line beside them.

document.addEventListener("click", ({ target }) => {
  if (!target.matches("button.copy")) return;
  getSelection().selectAllChildren(target.previousElementSibling);
  // The clipboard's own interface needs an encrypted page.
  target.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl-C";
  setTimeout(() => { target.textContent = "Copy"; }, 3000);
});
