// Ordinary C++20: files, containers, sorting, a clock, and, where the library has them, exceptions through destructors and calls.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>

static int alive = 0;
struct Counted {
    Counted() { ++alive; }
    Counted(const Counted &) { ++alive; }
    ~Counted() { --alive; }
};

#ifdef __cpp_exceptions
struct Refused : std::runtime_error {
    int code;
    Refused(int code, const std::string &why) : std::runtime_error(why), code(code) {}
};

static int deep(int left) {
    Counted here;
    if (left == 0) throw Refused(42, "the bottom");
    return deep(left - 1) + 1;
}

static void exceptions() {
    try {
        deep(200);
    } catch (const std::logic_error &) {
        std::cout << "wrong handler\n";
    } catch (const Refused &refused) {
        std::cout << "caught: " << refused.what() << ", " << refused.code << ", " << alive << " alive\n";
    }
    try {
        std::vector<int>(3).at(7);
    } catch (const std::out_of_range &) {
        std::cout << "caught: out of range\n";
    }
    try {
        std::stoi("seven");
    } catch (const std::exception &error) {
        std::cout << "caught: " << error.what() << "\n";
    }
    try {
        std::ifstream missing;
        missing.exceptions(std::ios::failbit);
        missing.open("state/missing.txt");
    } catch (const std::ios_base::failure &error) {
        std::cout << "caught: a stream, " << (error.code() == std::io_errc::stream) << "\n";
    }
    try {
        try {
            throw 7;
        } catch (int) {
            throw;
        }
    } catch (int number) {
        std::cout << "thrown again: " << number << "\n";
    }
    long caught = 0;
    for (int i = 0; i < 10000; ++i) {
        try {
            Counted here;
            if (i % 3 == 0) throw std::string("three");
        } catch (const std::string &text) {
            caught += static_cast<long>(text.size());
        }
    }
    std::cout << "in a loop: " << caught << ", " << alive << " alive\n";
}
#else
static void exceptions() {}
#endif

int main(int count, char **arguments) {
#ifdef __cpp_exceptions
    if (count > 1 && std::string(arguments[1]) == "throw") deep(20);
#endif
    mkdir("state/a", 0777);
    mkdir("state/a/b", 0777);
    { std::ofstream("state/a/words.txt") << "the quick brown fox jumps over the lazy dog the end"; }
    std::rename("state/a/words.txt", "state/words.txt");
    std::ifstream file("state/words.txt");
    std::map<std::string, int> counts;
    for (std::string word; file >> word;) ++counts[word];
    std::ofstream names("state/names.txt");
    for (const auto &[word, count] : counts) {
        std::cout << word << " " << count << "\n";
        names << word << "\n";
    }
    std::ostringstream numbers;
    numbers << std::sqrt(2.0) << " " << std::hex << 0xdeadbeefUL;
    std::cout << numbers.str() << "\n";
    exceptions();
    std::vector<std::string> found;
    DIR *folder = opendir("state");
    while (const dirent *entry = readdir(folder)) found.push_back(entry->d_name);
    closedir(folder);
    std::sort(found.begin(), found.end());
    for (const auto &path : found) std::cout << path << "\n";
    const std::chrono::seconds wanted(count > 1 ? std::atoi(arguments[1]) : 3600);
    const auto began = std::chrono::steady_clock::now();
    const timespec pause = {static_cast<time_t>(wanted.count()), 0};
    nanosleep(&pause, nullptr);
    std::cout << "waited: " << (std::chrono::steady_clock::now() - began >= wanted ? "true" : "false") << "\n";
    const time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::cout << "year: " << gmtime(&now)->tm_year + 1900 << "\n";
    return 0;
}
