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
