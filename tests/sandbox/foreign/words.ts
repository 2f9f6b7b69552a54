// Ordinary AssemblyScript: it has no files, so it works with what it is given. Nor does it sleep: that is asked of WASI.
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "poll_oneoff")
declare function poll(subscriptions: usize, events: usize, count: usize, happened: usize): u16;

function sleep(seconds: u64): void {
  const subscription = memory.data(48);
  store<u32>(subscription, 1, 16); // The clock that only goes forward.
  store<u64>(subscription, seconds * 1000000000, 24);
  poll(subscription, memory.data(32), 1, memory.data(4));
}

function deep(left: i32): i32 {
  if (left == 0) throw new Error("thrown on purpose");
  return deep(left - 1) + 1;
}

if (process.argv.length > 1 && process.argv[1] == "throw") deep(20);
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
const seconds = process.argv.length > 1 ? U64.parseInt(process.argv[1]) : 3600;
const began = process.hrtime();
sleep(seconds);
console.log("waited: " + (process.hrtime() - began >= seconds * 1000000000).toString());
console.log("year: " + new Date(Date.now()).getUTCFullYear().toString());
process.exit(0);
