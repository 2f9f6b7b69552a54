// How a run ends within a call, and why there may be no answer. What a guest sees and handles is thrown as the error's name in `wasi:filesystem`, a
// text.

/** `exited` with a status, `trapped` by a trap, `limited` by a limit, or `faulty`: the state can't be had as the proof has it. */
export class Stop extends Error {
  constructor(ending, detail) {
    super(`${ending}: ${detail}`);
    Object.assign(this, { ending, detail });
  }
}

export function fault(reason) {
  throw new Stop("faulty", reason);
}

/** Something that is not known here, so that nothing can be said of the proof. */
export class Unknown extends Error {}

export function unknown(reason) {
  throw new Unknown(reason);
}
