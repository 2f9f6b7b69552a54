// Ordinary C with what is unusual in it: jumps out of deep recursion as libpng and Lua make them, which compilers of today say by the
// exceptions of WebAssembly 3.0; thousands of files and folders that are walked, sought in and removed while they are listed; files with
// holes; large blocks that grow; a megabyte of output.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct handler {
    jmp_buf where;
    struct handler *outer;
    int code;
};
static struct handler *handlers;
static long calls;

static void fail(int code) {
    if (!handlers) {
        fprintf(stderr, "nobody handles %d\n", code);
        abort();
    }
    handlers->code = code;
    longjmp(handlers->where, code);
}

// Reads "(" as the begin of what is handled, and "!" as a failure.
static int evaluate(const char *text, int depth) {
    volatile int kept = depth;
    calls++;
    if (*text == '!') fail(100 + depth);
    if (!*text) return kept;
    if (*text != '(') return evaluate(text + 1, depth) + 1;
    struct handler handler = {.outer = handlers};
    handlers = &handler;
    const int value = setjmp(handler.where) ? 1000 + handler.code + kept : evaluate(text + 1, depth + 1);
    handlers = handler.outer;
    return value;
}

static void jumps(void) {
    const char *texts[] = {"abc", "(ab!c", "a(b(c!", "((((((!", "no handler("};
    for (int i = 0; i < 5; i++) printf("%s = %d\n", texts[i], evaluate(texts[i], 0));
    char *deep = malloc(1002);
    memset(deep, 'a', 1000);
    strcpy(deep + 1000, "!");
    deep[0] = '(';
    long sum = 0;
    for (int i = 0; i < 900; i++) sum += evaluate(deep, 0);
    free(deep);
    jmp_buf again;
    volatile int count = 0;
    const int last = setjmp(again);
    if (count < 100000) longjmp(again, ++count);
    printf("deep: %ld, %ld calls, %d times, last %d\n", sum, calls, count, last);
}

static uint64_t digest = 14695981039346656037u;
static void add(const void *bytes, size_t count) {
    for (const unsigned char *byte = bytes; count--; byte++) digest = (digest ^ *byte) * 1099511628211u;
}

static void blocks(void) {
    for (size_t size = 1 << 20; size <= 64 << 20; size *= 4) {
        char *block = calloc(1, size);
        for (size_t at = 0; at < size; at += 4096) block[at] = (char)(at >> 12);
        block = realloc(block, size + 12345);
        add(block, 1 << 20);
        free(block);
    }
    printf("too much: %d\n", malloc((size_t)3 << 30) == NULL && errno == ENOMEM);
}

static int files, folders, links;
static int visit(const char *path, const struct stat *status, int type, struct FTW *at) {
    (void)status, (void)at;
    files += type == FTW_F, folders += type == FTW_DP, links += type == FTW_SL;
    return *path == '\0';
}

static void tree(void) {
    char path[300], names[200][32];
    for (int folder = 0; folder < 10; folder++) {
        snprintf(path, sizeof path, "state/%d", folder);
        mkdir(path, 0777);
        for (int file = 0; file < 120; file++) {
            snprintf(path, sizeof path, "state/%d/%03d.txt", folder, file);
            FILE *out = fopen(path, "w");
            for (int word = 0; word < file; word++) fprintf(out, "%d ", word * folder);
            fclose(out);
        }
    }
    symlink("3/007.txt", "state/link");
    const int walked = nftw("state", visit, 16, FTW_PHYS | FTW_DEPTH);
    printf("walked: %d, %d files, %d folders, %d links\n", walked, files, folders, links);
    glob_t found;
    const int matched = glob("state/[1-3]/*9.txt", 0, NULL, &found);
    printf("glob: %d, %zu, %s\n", matched, found.gl_pathc, found.gl_pathv[0]);
    struct dirent **entries;
    const int scanned = scandir("state/3", &entries, NULL, alphasort);
    printf("scandir: %d, %s, %s\n", scanned, entries[0]->d_name, entries[scanned - 1]->d_name);

    DIR *listing = opendir("state/4");
    long places[200];
    int count = 0, wrong = 0, again = 0;
    for (const struct dirent *entry; places[count] = telldir(listing), (entry = readdir(listing)); count++) strcpy(names[count], entry->d_name);
    for (int i = count - 1; i >= 0; i -= 7) {
        seekdir(listing, places[i]);
        const struct dirent *entry = readdir(listing);
        wrong += !entry || strcmp(entry->d_name, names[i]) != 0;
    }
    rewinddir(listing);
    while (readdir(listing)) again++;
    closedir(listing);
    printf("sought: %d, %d wrong, %d again\n", count, wrong, again);
    listing = opendir("state/5");
    int removed = 0;
    for (const struct dirent *entry; (entry = readdir(listing));) {
        snprintf(path, sizeof path, "state/5/%s", entry->d_name);
        removed += entry->d_name[0] != '.' && unlink(path) == 0;
    }
    closedir(listing);
    printf("removed while listed: %d, %d\n", removed, rmdir("state/5"));

    const int holes = open("state/holes", O_RDWR | O_CREAT | O_TRUNC, 0666);
    char read_back[8];
    const ssize_t put = pwrite(holes, "end", 3, 5000000), got = pread(holes, read_back, sizeof read_back, 4999995);
    printf("holes: %zd, %zd, %d, %d\n", put, got, read_back[0], read_back[5]);
    const int cut = ftruncate(holes, 4999999);
    printf("cut: %d, %lld\n", cut, (long long)lseek(holes, 0, SEEK_END));
    close(holes);
}

// Yosys turns its output away and back so, by a call that moves a number and leaves none where it was; a file that is opened meanwhile
// is not to be given the number of the output.
static void numbers(void) {
    const char *names[] = {"state/1/001.txt", "state/1/002.txt", "state/1/003.txt"};
    int numbers[3];
    for (int i = 0; i < 3; i++) numbers[i] = open(names[i], O_RDONLY);
    for (int i = 0; i < 3; i++) close(numbers[i]);
    const int next = open(names[0], O_RDONLY), after = open(names[1], O_RDONLY);
    printf("given again: %d, %d\n", next - numbers[0], after - numbers[0]);
    close(next);
    close(after);
}

int main(int count, char **arguments) {
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (count > 1 && strcmp(arguments[1], "throw") == 0) evaluate("throws!", 0);
    jumps();
    blocks();
    tree();
    numbers();
    printf("digest: %016llx\n", (unsigned long long)digest);
    for (int line = 0; line < 30000; line++) printf("%d of thirty thousand lines of output\n", line);
    const struct timespec pause = {.tv_sec = count > 1 ? atoi(arguments[1]) : 3600};
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("waited: %s\n", ended.tv_sec - began.tv_sec >= pause.tv_sec ? "true" : "false");
    const time_t now = time(NULL);
    printf("year: %d\n", gmtime(&now)->tm_year + 1900);
    return 0;
}
