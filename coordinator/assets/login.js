// The log-in page.

import { $, attempt, post } from "./page.js";

$("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = event.target.elements.token;
  await attempt($("said"), async () => {
    await post("login", { token: field.value });
    location.assign("/");
  }, "Logged in.");
  field.value = "";
});
