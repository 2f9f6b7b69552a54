// The packages that workerd.test.mjs deploys with the program of host/docs/elsewhere.md. They are there only where a request can't compile from bytes;
// workerd lets a program do so while it starts, before it has any request.

import all from "./all.js";

function compiles() {
  try {
    new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
    return true;
  } catch {
    return false;
  }
}

export default {
  *[Symbol.iterator]() {
    if (compiles()) throw new Error("this runtime compiles from bytes");
    yield* all;
  },
};
