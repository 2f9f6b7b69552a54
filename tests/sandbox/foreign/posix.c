/* What POSIX says of files, in the folder "state". Compiled for WASI it runs in the sandbox; compiled for the machine that the tests
   run on it must come to the same, so what is checked here is what Linux does. Each step that does not do it ends the program with
   the step's line on stderr. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, strerror(errno));                                    \
      exit(99);                                                                                                        \
    }                                                                                                                  \
  } while (0)
/* Fails, and with this error. */
#define FAILS(call, error) CHECK((errno = 0, (call) == -1) && errno == (error))

static int name_order(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Memory that an allocator takes is the program's alone. */
static void memory(void) {
  for (int i = 0; i < 64; i++) {
    char *block = malloc(10000);
    CHECK(block);
    memset(block, i, 10000);
  }
  char *large = malloc(3 << 20);
  CHECK(large);
  memset(large, 0xAB, 3 << 20);
  int fd = open("state/memory", O_CREAT | O_RDWR, 0666);
  CHECK(fd >= 0 && write(fd, large, 3 << 20) == 3 << 20 && close(fd) == 0 && unlink("state/memory") == 0);
  for (int i = 0; i < 3 << 20; i++) {
    CHECK((unsigned char)large[i] == 0xAB);
  }
}

static void growing(void) {
  char text[16];
  int writer = open("state/grows", O_CREAT | O_WRONLY, 0666), reader = open("state/grows", O_RDONLY);
  CHECK(writer >= 0 && reader >= 0 && read(reader, text, sizeof text) == 0);
  CHECK(write(writer, "more", 4) == 4);
  CHECK(read(reader, text, sizeof text) == 4 && memcmp(text, "more", 4) == 0 && read(reader, text, 1) == 0);
  CHECK(write(writer, "!", 1) == 1 && read(reader, text, sizeof text) == 1 && text[0] == '!');
  CHECK(lseek(reader, 0, SEEK_CUR) == 5 && lseek(reader, -1, SEEK_END) == 4 && lseek(reader, 100, SEEK_SET) == 100);
  CHECK(read(reader, text, 1) == 0);
  FAILS(lseek(reader, -1, SEEK_SET), EINVAL);
  CHECK(close(writer) == 0 && close(reader) == 0);
  FAILS(close(reader), EBADF);
}

static void appending(void) {
  static char large[20000];
  memset(large, 'x', sizeof large);
  int fd = open("state/log", O_CREAT | O_RDWR | O_APPEND, 0666);
  CHECK(fd >= 0 && write(fd, "begin", 5) == 5);
  /* Linux writes at the end, wherever it is told to. */
  CHECK(pwrite(fd, large, sizeof large, 0) == sizeof large);
  struct iovec parts[3] = {{"a", 1}, {large, 10000}, {"z", 1}};
  CHECK(writev(fd, parts, 3) == 10002 && lseek(fd, 0, SEEK_CUR) == 30007);
  char ends[6] = {0};
  CHECK(pread(fd, ends, 5, 0) == 5 && strcmp(ends, "begin") == 0 && pread(fd, ends, 5, 30006) == 1 && ends[0] == 'z');
  struct iovec in[2] = {{large, 5}, {large + 5, 19995}};
  CHECK(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, in, 2) == 20000 && memcmp(large, "beginx", 6) == 0);
  int flags = fcntl(fd, F_GETFL);
  CHECK((flags & O_APPEND) && (flags & O_ACCMODE) == O_RDWR && fcntl(fd, F_SETFL, 0) == 0);
  CHECK(pwrite(fd, "B", 1, 0) == 1 && pread(fd, ends, 1, 0) == 1 && ends[0] == 'B');
  CHECK(close(fd) == 0);
}

static void rights(void) {
  char byte;
  int reads = open("state/log", O_RDONLY), writes = open("state/log", O_WRONLY), made = open("state/made", O_CREAT | O_RDONLY, 0666);
  CHECK(reads >= 0 && writes >= 0 && made >= 0);
  for (int again = 0; again < 2; again++) {
    FAILS(write(reads, "x", 1), EBADF);
    FAILS(read(writes, &byte, 1), EBADF);
    FAILS(pwrite(reads, "x", 1, 0), EBADF);
    FAILS(pread(writes, &byte, 1, 0), EBADF);
    FAILS(write(made, "x", 1), EBADF);
    FAILS(ftruncate(reads, 0), EINVAL);
  }
  FAILS(read(77, &byte, 1), EBADF);
  FAILS(write(0, "x", 1), EBADF);
  FAILS(lseek(77, 0, SEEK_SET), EBADF);
  CHECK(posix_fallocate(writes, 0, 40000) == 0);
  struct stat status;
  CHECK(fstat(reads, &status) == 0 && status.st_size == 40000 && posix_fallocate(writes, 0, 10) == 0);
  CHECK(fstat(reads, &status) == 0 && status.st_size == 40000);
  CHECK(close(reads) == 0 && close(writes) == 0 && close(made) == 0);
}

static void folders(void) {
  CHECK(mkdir("state/folder", 0777) == 0 && mkdir("state/folder/inner", 0777) == 0);
  int folder = open("state/folder", O_RDONLY | O_DIRECTORY);
  CHECK(folder >= 0);
  struct timespec times[2] = {{1000000000, 5}, {1100000000, 7}};
  CHECK(futimens(folder, times) == 0);
  struct stat status, inner, seen;
  CHECK(fstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_mtim.tv_sec == 1100000000 && status.st_atim.tv_nsec == 5);
  char byte;
  FAILS(read(folder, &byte, 1), EISDIR);
  FAILS(write(folder, &byte, 1), EBADF);
  FAILS(open("state/folder", O_WRONLY), EISDIR);
  FAILS(unlink("state/folder"), EISDIR);
  FAILS(rmdir("state/log"), ENOTDIR);
  FAILS(rmdir("state/folder"), ENOTEMPTY);
  FAILS(open("state/log/x", O_RDONLY), ENOTDIR);
  FAILS(open("state/folder", O_CREAT | O_EXCL | O_RDWR, 0666), EEXIST);
  CHECK(fsync(folder) == 0);
  /* Opened below an open folder, for writing. */
  int file = openat(folder, "below", O_CREAT | O_WRONLY, 0666);
  CHECK(file >= 0 && write(file, "x", 1) == 1 && close(file) == 0);
  CHECK(fstatat(folder, "below", &status, 0) == 0 && status.st_size == 1);
  FAILS(openat(folder, "absent", O_RDONLY), ENOENT);
  CHECK(linkat(folder, "below", folder, "second", 0) == 0 && fstatat(folder, "second", &seen, 0) == 0);
  CHECK(fstatat(folder, "below", &status, 0) == 0);
  CHECK(seen.st_ino == status.st_ino && status.st_nlink == 2 && unlinkat(folder, "second", 0) == 0);
  CHECK(symlinkat("below", folder, "link") == 0);
  char target[3] = {0};
  CHECK(readlinkat(folder, "link", target, 2) == 2 && memcmp(target, "be", 2) == 0);
  CHECK(fstatat(folder, "link", &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode) && status.st_size == 5);
  CHECK(fstatat(folder, "link", &status, 0) == 0 && S_ISREG(status.st_mode));
  FAILS(openat(folder, "link", O_RDONLY | O_NOFOLLOW), ELOOP);
  CHECK(unlinkat(folder, "link", 0) == 0 && unlinkat(folder, "below", 0) == 0);

  /* Entries name what they are: also the folder itself and the one above. */
  struct dirent **names;
  CHECK(scandir("state/folder", &names, NULL, name_order) == 3);
  CHECK(strcmp(names[0]->d_name, ".") == 0 && strcmp(names[1]->d_name, "..") == 0 && strcmp(names[2]->d_name, "inner") == 0);
  CHECK(stat("state/folder/inner", &inner) == 0 && names[2]->d_ino == inner.st_ino && names[2]->d_type == DT_DIR);
  CHECK(stat("state/folder", &status) == 0 && names[0]->d_ino == status.st_ino);
  CHECK(stat("state", &status) == 0 && names[1]->d_ino == status.st_ino);
  CHECK(close(folder) == 0 && rmdir("state/folder/inner") == 0 && rmdir("state/folder") == 0);
}

/* Removing what is listed loses nothing, though a listing of so many takes several calls. */
static void listing(void) {
  CHECK(mkdir("state/many", 0777) == 0);
  for (int i = 0; i < 1000; i++) {
    char path[64];
    snprintf(path, sizeof path, "state/many/a-name-of-some-length-%04d", i);
    int fd = open(path, O_CREAT | O_WRONLY, 0666);
    CHECK(fd >= 0 && close(fd) == 0);
  }
  DIR *folder = opendir("state/many");
  CHECK(folder);
  int counted = 0;
  long place = 0;
  char after[256] = "";
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (counted == 501) {
      strcpy(after, entry->d_name);
    }
    if (++counted == 501) {
      place = telldir(folder);
    }
  }
  CHECK(counted == 1002);
  seekdir(folder, place);
  struct dirent *again = readdir(folder);
  CHECK(again && strcmp(again->d_name, after) == 0);
  rewinddir(folder);
  int removed = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[512];
    snprintf(path, sizeof path, "state/many/%s", entry->d_name);
    if (entry->d_name[0] != '.') {
      CHECK(unlink(path) == 0);
      removed++;
    }
  }
  CHECK(removed == 1000 && closedir(folder) == 0 && rmdir("state/many") == 0);
}

static void waiting(void) {
  int file = open("state/log", O_RDWR);
  struct pollfd all[3] = {{file, POLLIN | POLLOUT, 0}, {1, POLLOUT, 0}, {77, POLLIN, 0}};
  CHECK(poll(all, 2, 0) == 2 && (all[0].revents & (POLLIN | POLLOUT)) == (POLLIN | POLLOUT) && (all[1].revents & POLLOUT));
  CHECK(poll(all, 3, 0) == 3 && all[2].revents == POLLNVAL && close(file) == 0);
  struct timespec before, after, pause = {0, 2000000};
  CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0 && poll(NULL, 0, 1) == 0 && nanosleep(&pause, NULL) == 0);
  CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
  CHECK((after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec >= 3000000);
}

/* The folders are also found from the top. */
static void absolute(void) {
#ifdef __wasi__
  struct stat status;
  CHECK(stat("/state/log", &status) == 0 && stat("/", &status) == 0 && S_ISDIR(status.st_mode));
  FAILS(stat("/etc/passwd", &status), ENOENT);
  FAILS(stat("absent", &status), ENOENT);
  FAILS(mkdir("/absent", 0777), EROFS);
  DIR *top = opendir("/");
  int names = 0;
  for (struct dirent *entry; top && (entry = readdir(top));) {
    names += strcmp(entry->d_name, "state") == 0;
  }
  CHECK(names == 1 && closedir(top) == 0);
#endif
}

int main(void) {
  memory();
  growing();
  appending();
  rights();
  folders();
  listing();
  waiting();
  absolute();
  puts("as POSIX says");
  return 0;
}
