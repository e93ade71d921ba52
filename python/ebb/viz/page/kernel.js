// python/ebb/viz/page/kernel.js -- the layout and the search for loops: ebb/graph/layout as wasm.
//
// The same C++ draws ebb.graph(...).to_svg(), so the two pictures of one graph are of one kind.
// Columns go in and come out as typed arrays; html.py puts the code itself in as KERNEL.

const SLICE = 4096;  // steps between two chances for the page to act
const ARRAYS = { 8: Float64Array, 4: Int32Array, 1: Uint8Array };  // by bytes of a number

let kernel = null;
let inputs = [];  // of the layout under way

/** What html.py put into the page as text. */
function unpack(text, encoding) {
  if (encoding === "json") return new Response(text);
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text.trim())
    : Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
  if (encoding === "base64") return new Response(bytes);
  if (typeof DecompressionStream === "undefined") {
    throw new Error("viewer: needs a browser with DecompressionStream, got one without\n" +
      "hint: write the file with compress=False");
  }
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

async function loadKernel() {
  const code = await unpack(KERNEL, KERNEL_ENCODING).arrayBuffer();
  kernel = (await WebAssembly.instantiate(code)).instance.exports;
}

/** Copies columns into the kernel's memory; returns where they lie. */
function putColumns(columns) {
  return columns.map((column) => {
    const place = kernel.allocate(column.byteLength);
    new column.constructor(kernel.memory.buffer, place, column.length).set(column);
    return place;
  });
}

function freeColumns(places) {
  for (const place of places.splice(0)) kernel.release(place);
}

/**
 * Yields now and then; returns columns by name (ebb/graph/layout/columns.h). Items are boxes and
 * frames, item 0 the picture; an end of a link below 0 is a port.
 */
function* layOut({ parent, isFrame, rank, width, height, from, to }) {
  freeColumns(inputs);  // of a layout that was dropped
  inputs = putColumns([parent, isFrame, rank, width, height, from, to]);
  kernel.begin(parent.length, ...inputs.slice(0, 5), from.length, ...inputs.slice(5));
  yield;
  while (kernel.step()) yield;
  const columns = {};
  for (let k = 0; kernel.columnName(k) !== 0; k += 1) {
    const Column = ARRAYS[kernel.columnBytes(k)];
    const column = new Column(kernel.memory.buffer, kernel.columnData(k), kernel.columnLength(k));
    columns[textAt(kernel.columnName(k))] = column.slice();
  }
  kernel.end();
  freeColumns(inputs);
  return columns;
}

function textAt(place) {
  const bytes = new Uint8Array(kernel.memory.buffer, place);
  return String.fromCharCode(...bytes.subarray(0, bytes.indexOf(0)));
}

/** Where each loop in a program begins; ops in a step; how many steps (loops.h). */
function findLoops(symbols, wireStart, wireInput, wireMaker, leastOps) {
  const [ops, start, input, maker] = putColumns(
    [symbols, wireStart, wireInput, wireMaker].map((column) => Int32Array.from(column)));
  const count = kernel.findLoops(symbols.length, ops, start, wireInput.length, input, maker,
    leastOps);
  freeColumns([ops, start, input, maker]);
  const found = new Int32Array(kernel.memory.buffer, kernel.loopData(), count);
  return Array.from({ length: count / 3 }, (_, k) => found.slice(3 * k, 3 * k + 3));
}
