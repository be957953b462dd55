// Counts a board in a thread of its own, by the solver as WebAssembly, and tells the page how far it is.

/** The largest board that the program plans. */
const LARGEST = 16;

/** The milliseconds between two messages. */
const PAUSE = 50;

const program = () => fetch(new URL("count.wasm", location.href));
// Some servers don't know its type, which streaming needs.
const loaded = WebAssembly.instantiateStreaming(program()).catch(async () =>
  WebAssembly.instantiate(await (await program()).arrayBuffer()));

addEventListener("message", async ({ data: n }) => {
  try {
    if (!Number.isInteger(n) || n < 1 || n > LARGEST) throw new RangeError(`n is 1 to ${LARGEST}`);
    const { plan, count_part: countPart } = (await loaded).instance.exports;
    const began = performance.now();
    const parts = plan(n);
    let solutions = 0n, told = began;
    for (let part = 0; part < parts; part += 1) {
      solutions += BigInt.asUintN(64, countPart(part));
      if (performance.now() - told > PAUSE) {
        told = performance.now();
        postMessage({ n, share: (part + 1) / parts });
      }
    }
    postMessage({ n, share: 1, solutions: String(solutions), seconds: (performance.now() - began) / 1000 });
  } catch (error) {
    postMessage({ n, error: error.message });
  }
});
