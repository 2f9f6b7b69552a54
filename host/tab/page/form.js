// From a contract's command to the arguments of a call. Knows no page.

/** The commands of a package; without a contract only their names are known. */
export function commandsOf(known) {
  const nameless = { description: "", parameters: [] };
  const without = known.commands.map((name) => ({ ...nameless, name, confirmationRequired: known.confirmation_required.includes(name) }));
  return known.contract?.commands ?? without;
}

/** @param {{ get(name: string): unknown }} values what was filled in, by the parameter's name */
export function argumentsOf({ name, parameters }, values) {
  const words = name.split(" ");
  const given = parameters.filter((parameter) => values.get(parameter.name)).map((parameter) => [parameter, String(values.get(parameter.name))]);
  const flags = given.filter(([{ position }]) => position === null);
  const bare = given.filter(([{ position }]) => position !== null).sort(([a], [b]) => a.position - b.position);
  const options = flags.flatMap(([parameter, value]) => (parameter.valueType === "boolean" ? [`--${parameter.name}`] : [`--${parameter.name}=${value}`]));
  // What begins with a dash is a value all the same.
  const bareValues = bare.map(([, value]) => value);
  return [...words, ...options, ...(bareValues.some((value) => value.startsWith("-")) ? ["--"] : []), ...bareValues];
}

/** Characters that nobody sees where they stand, or that change the order in which others are seen, from one to the other: the host's own list
 *  (`host/model/src/hidden.rs`), line ends and tabs apart. */
const HIDDEN = [
  [0x0, 0x8], [0xb, 0x1f], [0x7f, 0x9f], [0xad, 0xad], [0x34f, 0x34f], [0x61c, 0x61c], [0x115f, 0x1160], [0x17b4, 0x17b5], [0x180b, 0x180f],
  [0x200b, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f], [0x3164, 0x3164], [0xfe00, 0xfe0f], [0xfeff, 0xfeff], [0xffa0, 0xffa0], [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3], [0x1d173, 0x1d17a], [0xe0000, 0xe0fff],
];
const isHidden = (code) => HIDDEN.some(([first, last]) => first <= code && code <= last);

/** Whether what stands between these two only shapes them. */
function shapes(left, code, right) {
  const joins = (code) => code >= 0x600 && !isHidden(code);
  if (code === 0x200c || code === 0x200d) return (joins(left) || left === 0xfe0f) && joins(right);
  if (code !== 0xfe0e && code !== 0xfe0f) return false;
  return (left >= 0x30 && left <= 0x39) || [0x23, 0x2a, 0xa9, 0xae].includes(left) || (left >= 0x2000 && !isHidden(left));
}

/** A text of a package's or a guest's as a person reads it: what would not be seen stands there by its number. */
export function seen(text) {
  const codes = Array.from(String(text), (char) => char.codePointAt(0));
  const shown = (code, at) => (isHidden(code) && !shapes(codes[at - 1], code, codes[at + 1]) ? `\\u{${code.toString(16)}}` : String.fromCodePoint(code));
  return codes.map(shown).join("");
}
