// Ordinary AssemblyScript: it has no files, so it works with what it is given.
const text = "the quick brown fox jumps over the lazy dog the end";
const counts = new Map<string, i32>();
const words = text.split(" ");
for (let at = 0; at < words.length; at++) {
  counts.set(words[at], (counts.has(words[at]) ? counts.get(words[at]) : 0) + 1);
}
const names = counts.keys();
names.sort();
for (let at = 0; at < names.length; at++) console.log(names[at] + " " + counts.get(names[at]).toString());
console.log("root of two: " + Math.sqrt(2).toString());
console.error("arguments: " + process.argv.length.toString());
process.exit(0);
