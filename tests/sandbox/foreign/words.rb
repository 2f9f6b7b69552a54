# Ordinary Ruby: files, exceptions, sorting, big numbers, and a clock.
raise "thrown on purpose" if ARGV.first == "throw"

def deep(left)
  raise ArgumentError, "the bottom" if left.zero?
  deep(left - 1)
end

Dir.mkdir("state/a")
Dir.mkdir("state/a/b")
File.write("state/a/words.txt", "the quick brown fox jumps over the lazy dog the end")
File.rename("state/a/words.txt", "state/words.txt")
counts = File.read("state/words.txt").split.tally
counts.sort.each { |word, count| puts "#{word} #{count}" }
File.open("state/names.txt", "w") { |names| counts.keys.sort.each { |word| names.puts word } }
File.open("state/names.txt", "a") { |names| names.puts "more" }
puts Dir.children("state").sort.inspect, Dir.glob("state/**/*").sort.inspect
begin
  deep(200)
rescue ArgumentError => error
  puts "caught: #{error.message}, #{error.backtrace.length > 200}"
end
begin
  File.read("state/missing.txt")
rescue SystemCallError => error
  puts "caught: #{error.class}"
end
puts Math.sqrt(2), 2**100, "%.3f" % 1e10, "grün".upcase, [3, 1, 2].sort { |a, b| b <=> a }.inspect
began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
seconds = Integer(ARGV.first || 3600)
sleep seconds
puts "waited: #{Process.clock_gettime(Process::CLOCK_MONOTONIC) - began >= seconds}"
puts "year: #{Time.now.utc.year}"
