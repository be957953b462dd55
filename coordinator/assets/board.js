// Animates the search on a small board. The coordinator searches and sends the changes.

import { $, follow, get, grouped, h, say } from "./page.js";

/** Pictures that are loaded ahead. */
const AHEAD = 400;
/** A solution is shown as long as this many other pictures. */
const REST = 10;
const LARGEST = 12;

const stands = (look) => look === "queen" || look === "safe";
let n = 0, pictures = [], next = 0, isCut = false, asking = null;
let at = 0, looks = [], squares = [], counts, isPlaying = false;

/** Shows the empty board. */
function begin() {
  at = 0;
  looks = Array(n * n).fill("empty");
  counts = { tried: 0, placed: 0, back: 0, solutions: 0 };
  squares = looks.map((_, i) => h("i", { className: "square" }));
  $("squares").style.setProperty("--n", n);
  $("squares").replaceChildren(...squares);
  squares.forEach((square, i) => square.classList.toggle("dark", (Math.floor(i / n) + i % n) % 2 === 1));
  say($("said"), isPlaying ? "" : "The board is empty. Press Play, or Step for one picture.");
  tell();
}

function choose(size) {
  n = size;
  [pictures, next, isCut, asking] = [[], 0, false, null];
  begin();
  buttons();
  more();
}

/** Loads the next pictures, unless there are none or a request is running. */
function more() {
  if (asking !== null || next === null) return;
  const asked = asking = (async () => {
    try {
      const piece = await get(`board/${n}?from=${next}`);
      if (asked !== asking) return;
      pictures.push(...piece.pictures);
      [next, isCut] = [piece.next, piece.cut];
      $("error").hidden = true;
      asking = null;
    } catch (error) {
      if (asked !== asking) return;
      play(false);
      $("error").hidden = false;
      say($("error"), `The search can't be shown: ${error.message}. Press Play to try again.`);
      asking = null;
    }
    buttons();
  })();
}

/** Describes a picture in words. */
function describe({ changes, solved }) {
  if (solved) return `Solution ${grouped(counts.solutions)}: columns ${changes.map((one) => one.column).join(" ")}, from the top row on.`;
  const place = (one) => `Row ${one.row}, column ${one.column}`;
  const tried = changes.find((one) => one.look === "safe" || one.look === "attacked");
  if (tried) return `${place(tried)}: ${tried.look === "safe" ? "safe, a queen is placed" : "attacked"}.`;
  const left = changes.at(-1);
  return left ? `${place(left)}: ${left.look === "empty" ? "the queen is taken back" : "the queen stands"}.` : "The board is empty.";
}

/** Shows the next picture and returns it; `null` if there is none. */
function advance() {
  const picture = pictures[at];
  if (!picture) return null;
  at += 1;
  counts.solutions += picture.solved ? 1 : 0;
  for (const { row, column, look } of picture.changes) {
    const square = row * n + column;
    if (!picture.solved) {
      if (look === "safe") counts.placed += 1;
      if (look === "safe" || look === "attacked") counts.tried += 1;
      if (look === "empty" && stands(looks[square])) counts.back += 1;
    }
    squares[square].classList.remove(looks[square]);
    squares[square].classList.add(look);
    looks[square] = look;
  }
  if (pictures.length - at < AHEAD) more();
  return picture;
}

const isOver = () => at === pictures.length && next === null;

function tell() {
  for (const [id, count] of [["tried", counts.tried], ["placed", counts.placed], ["taken-back", counts.back], ["solutions", counts.solutions]]) say($(id), grouped(count));
  const queens = looks.flatMap((look, i) => (stands(look) ? [`row ${Math.floor(i / n)} column ${i % n}`] : []));
  if (!isPlaying) $("squares").setAttribute("aria-label", `a board of ${n} by ${n} with ${queens.length ? `queens at ${queens.join(", ")}` : "no queens"}`);
}

/** Describes the end of the search, or of its available pictures. */
function ended() {
  const found = counts.solutions;
  if (isCut) return `The search continues, but only its first ${grouped(pictures.length)} pictures are available: ${grouped(found)} ${found === 1 ? "solution" : "solutions"} so far.`;
  if (found === 0) return `The search is over: there is no solution. ${n} queens never fit on a board of ${n} by ${n}.`;
  return `The search is over: it has found ${found === 1 ? "the only solution" : `all ${grouped(found)} solutions`}.`;
}

function buttons() {
  const isReady = pictures.length > 0;
  say($("play"), isPlaying ? "Pause" : "Play");
  $("play").disabled = isReady && isOver();
  $("step").disabled = !isReady || isOver();
  $("again").disabled = !isReady || (at === 0 && !isPlaying);
}

function play(now) {
  isPlaying = now;
  if (now) {
    say($("said"), "");
    if (next !== null && pictures.length - at < AHEAD) more();
    requestAnimationFrame((began) => run(began, 0));
  } else {
    tell();
  }
  buttons();
}

/** Shows the pictures that are due since the last frame; `owed` is the number due already, negative while a solution rests. */
function run(before, owed) {
  requestAnimationFrame((now) => {
    if (!isPlaying) return;
    // A page that was hidden does not catch up.
    let due = owed + Math.min(now - before, 250) / 1000 * Number($("rate").value);
    while (due >= 1) {
      const picture = advance();
      if (!picture) {
        due = 0;
        break;
      }
      due -= 1;
      if (picture.solved) {
        say($("said"), describe(picture));
        due = -REST;
      }
    }
    tell();
    if (isOver()) {
      play(false);
      return say($("said"), ended());
    }
    run(now, due);
  });
}

$("play").addEventListener("click", () => play(!isPlaying));
$("step").addEventListener("click", () => {
  play(false);
  const picture = advance();
  if (picture) say($("said"), describe(picture));
  if (isOver()) say($("said"), ended());
  tell();
  buttons();
});
$("again").addEventListener("click", () => {
  begin();
  buttons();
});
$("n").addEventListener("change", () => {
  if (!$("n").reportValidity()) return;
  history.replaceState(null, "", `/board?n=${$("n").value}`);
  choose(Number($("n").value));
});
// The content security policy forbids submitting forms.
$("controls").addEventListener("submit", (event) => event.preventDefault());

const asked = Number(new URLSearchParams(location.search).get("n"));
if (Number.isInteger(asked) && asked >= 1 && asked <= LARGEST) $("n").value = asked;
choose(Number($("n").value));
if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
follow(() => {});
