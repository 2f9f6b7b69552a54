//! Ordinary Zig: files, sorting, errors that are caught, and a clock.
const std = @import("std");

fn before(_: void, a: []const u8, b: []const u8) bool {
    return std.mem.lessThan(u8, a, b);
}

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const arguments = try init.minimal.args.toSlice(init.arena.allocator());
    if (arguments.len > 1 and std.mem.eql(u8, arguments[1], "throw")) return error.ThrownOnPurpose;
    const gpa = init.gpa;
    const folder = std.Io.Dir.cwd();
    try folder.createDirPath(io, "state/a/b");
    try folder.writeFile(io, .{ .sub_path = "state/a/words.txt", .data = "the quick brown fox jumps over the lazy dog the end" });
    try folder.rename("state/a/words.txt", folder, "state/words.txt", io);
    const text = try folder.readFileAlloc(io, "state/words.txt", gpa, .limited(1 << 20));
    var counts = std.StringArrayHashMapUnmanaged(u32).empty;
    var words = std.mem.tokenizeScalar(u8, text, ' ');
    while (words.next()) |word| {
        const entry = try counts.getOrPut(gpa, word);
        entry.value_ptr.* = if (entry.found_existing) entry.value_ptr.* + 1 else 1;
    }
    const names = try gpa.dupe([]const u8, counts.keys());
    std.mem.sort([]const u8, names, {}, before);
    var buffer: [4096]u8 = undefined;
    var out = std.Io.File.stdout().writer(io, &buffer);
    for (names) |name| try out.interface.print("{s} {d}\n", .{ name, counts.get(name).? });
    const missing = folder.readFileAlloc(io, "state/missing.txt", gpa, .limited(1));
    try out.interface.print("missing: {s}\n", .{if (missing) |_| "there" else |err| @errorName(err)});
    try out.interface.print("root of two: {d}\n", .{@sqrt(@as(f64, 2))});
    const seconds = if (arguments.len > 1) try std.fmt.parseInt(i64, arguments[1], 10) else 3600;
    const began = std.Io.Clock.awake.now(io);
    try io.sleep(.fromSeconds(seconds), .awake);
    try out.interface.print("waited: {}\n", .{began.durationTo(std.Io.Clock.awake.now(io)).toSeconds() >= seconds});
    const now = std.time.epoch.EpochSeconds{ .secs = @intCast(std.Io.Clock.real.now(io).toSeconds()) };
    try out.interface.print("year: {d}\n", .{now.getEpochDay().calculateYearDay().year});
    try out.interface.flush();
    try folder.writeFile(io, .{ .sub_path = "state/names.txt", .data = try std.mem.join(gpa, "\n", names) });
}
