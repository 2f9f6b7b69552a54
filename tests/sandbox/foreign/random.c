/* Random work with files in the folder "state", each result on a line of its own, and in the end all that is left. The arguments are
   a seed and how many operations. What is said must be the same wherever it runs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t state;

static uint32_t next(uint32_t below) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)(state >> 32) % below;
}

#define COUNT(list) (sizeof list / sizeof *list)

/* Paths meet often, and in every way. */
static const char *path(void) {
  static const char *const parts[] = {"a", "b", "c", "d", "link", "a", "b", ".", "..", "with space", "\xc3\xa9"};
  static char paths[4][600];
  static int turn;
  char *to = paths[turn++ % 4];
  strcpy(to, "state");
  /* Never above "state", where another world begins. */
  int depth = 0;
  for (uint32_t left = 1 + next(3); left; left--) {
    const char *part = parts[next(COUNT(parts))];
    if (strcmp(part, "..") == 0 && depth-- <= 0) {
      depth = 0;
      continue;
    }
    depth += strcmp(part, ".") && strcmp(part, "..");
    strcat(strcat(to, next(20) ? "/" : "//"), part);
  }
  /* What becomes of "state" itself is the host's. */
  if (depth == 0) {
    strcat(to, "/a");
  }
  if (next(200) == 0) {
    strcat(to, "/");
    memset(to + strlen(to), 'n', 254 + next(4)), to[strlen(to)] = 0;
  }
  if (next(15) == 0) {
    strcat(to, "/");
  }
  return to;
}

static const char *error(void) {
  switch (errno) {
#define NAME(error)                                                                                                    \
  case error:                                                                                                          \
    return #error;
    NAME(EBADF) NAME(EBUSY) NAME(EEXIST) NAME(EFBIG) NAME(EINVAL) NAME(EISDIR) NAME(ELOOP) NAME(EMFILE) NAME(EMLINK)
    NAME(ENAMETOOLONG) NAME(ENOENT) NAME(ENOSPC) NAME(ENOTDIR) NAME(ENOTEMPTY) NAME(ENOTSUP) NAME(EPERM) NAME(EROFS)
    NAME(ESPIPE) NAME(EXDEV) NAME(EACCES) NAME(EOVERFLOW) NAME(EIO)
  }
  return strerror(errno);
}

static long long said(long long result) {
  if (result < 0) {
    printf(" %s\n", error());
  } else {
    printf(" %lld\n", result);
  }
  return result;
}

/* Of a call with two paths: where both are wrong, either may be told. */
static void done(int result) { printf(result ? " no\n" : " done\n"); }

/* A name to be removed: of one that ends in a slash or in "..", systems say different things. */
static const char *removable(void) {
  for (;;) {
    const char *name = path();
    size_t length = strlen(name);
    if (name[length - 1] != '/' && strcmp(name + length - 2, "..") != 0) {
      return name;
    }
  }
}

static uint32_t sum(const char *bytes, size_t length) {
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < length; i++) {
    sum = (sum ^ (uint8_t)bytes[i]) * 16777619u;
  }
  return sum;
}

static void show(const struct stat *status, int result) {
  if (result < 0) {
    said(result);
  } else if (S_ISDIR(status->st_mode)) {
    printf(" folder\n");
  } else {
    printf(" %s %lld bytes %d names\n", S_ISLNK(status->st_mode) ? "link" : "file", (long long)status->st_size, (int)status->st_nlink);
  }
}

static int order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* All names in a folder, in order, each of which `each` is called with. */
static void list(const char *folder, void (*each)(const char *)) {
  char *names[2000];
  size_t count = 0;
  DIR *open = opendir(folder);
  if (!open) {
    printf(" %s\n", error());
    return;
  }
  for (struct dirent *entry; (entry = readdir(open)) && count < COUNT(names);) {
    char full[5000];
    snprintf(full, sizeof full, "%s/%s", folder, entry->d_name);
    names[count++] = strdup(full);
  }
  closedir(open);
  qsort(names, count, sizeof *names, order);
  printf(" %zu:", count);
  for (size_t i = 0; i < count; i++) {
    printf(" %s", strrchr(names[i], '/') + 1);
  }
  printf("\n");
  for (size_t i = 0; i < count; i++) {
    const char *name = strrchr(names[i], '/') + 1;
    if (each && strcmp(name, ".") && strcmp(name, "..")) {
      each(names[i]);
    }
    free(names[i]);
  }
}

static void left(const char *file) {
  struct stat status;
  int found = lstat(file, &status);
  printf("%s", file);
  show(&status, found);
  if (found == 0 && S_ISDIR(status.st_mode)) {
    list(file, left);
  } else if (found == 0 && S_ISREG(status.st_mode)) {
    static char bytes[1 << 20];
    int fd = open(file, O_RDONLY);
    ssize_t length = read(fd, bytes, sizeof bytes);
    printf(" %zd bytes of sum %08x\n", length, length < 0 ? 0 : sum(bytes, (size_t)length));
    close(fd);
  } else if (found == 0) {
    char target[600];
    ssize_t length = readlink(file, target, sizeof target);
    printf(" to %.*s\n", (int)length, target);
  }
}

static int file[6] = {-1, -1, -1, -1, -1, -1};

static int *slot(void) { return &file[next(COUNT(file))]; }

static void open_one(void) {
  static const int ways[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
  static const int more[] = {0, O_CREAT, O_CREAT, O_CREAT | O_EXCL, O_CREAT | O_TRUNC, O_TRUNC, O_APPEND, O_CREAT | O_APPEND, O_NOFOLLOW, O_DIRECTORY};
  int *to = slot(), flags = more[next(COUNT(more))], way = ways[next(COUNT(ways))];
  /* What cutting a file that is opened to be read does, POSIX leaves open. */
  if ((flags & O_TRUNC) && way == O_RDONLY) {
    way = O_RDWR;
  }
  if (*to >= 0) {
    close(*to);
  }
  const char *name = path();
  printf("open %s %d", name, flags & O_CREAT ? 1 : 0);
  *to = open(name, way | flags, 0666);
  said(*to < 0 ? -1 : 0);
}

static char buffer[70000];

static void write_some(void) {
  size_t length = next(4) ? next(300) : next(sizeof buffer);
  for (size_t i = 0; i < length; i++) {
    buffer[i] = (char)(state >> (i % 60));
  }
  off_t at = next(3) ? next(1000) : next(200000);
  int fd = *slot();
  switch (next(3)) {
  case 0:
    printf("write %zu", length);
    said(write(fd, buffer, length));
    break;
  case 1:
    printf("pwrite %zu at %lld", length, (long long)at);
    said(pwrite(fd, buffer, length, at));
    break;
  default: {
    size_t first = length / 3;
    struct iovec parts[4] = {{buffer, first}, {buffer, 0}, {buffer + first, length - first}, {buffer, 1}};
    printf("writev %zu", length + 1);
    said(writev(fd, parts, 4));
  }
  }
}

static void read_some(void) {
  size_t length = next(4) ? next(300) : next(sizeof buffer);
  off_t at = next(3) ? next(1000) : next(200000);
  int fd = *slot();
  ssize_t got;
  switch (next(3)) {
  case 0:
    printf("read %zu", length);
    got = read(fd, buffer, length);
    break;
  case 1:
    printf("pread %zu at %lld", length, (long long)at);
    got = pread(fd, buffer, length, at);
    break;
  default: {
    size_t first = length / 3;
    struct iovec parts[3] = {{buffer, first}, {buffer, 0}, {buffer + first, length - first}};
    printf("readv %zu", length);
    got = readv(fd, parts, 3);
  }
  }
  printf(" %08x", got < 0 ? 0 : sum(buffer, (size_t)got));
  said(got);
}

static void place(void) {
  static const int from[] = {SEEK_SET, SEEK_CUR, SEEK_END, 77};
  int whence = from[next(40) ? next(3) : 3];
  long long by = (long long)next(2000) - 500;
  int fd = *slot();
  struct stat status;
  /* A folder's places are its file system's. */
  if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    return;
  }
  printf("lseek %lld", by);
  said(lseek(fd, by, whence));
}

static void look(void) {
  struct stat status;
  const char *name = path();
  switch (next(4)) {
  case 0:
    printf("stat %s", name);
    show(&status, stat(name, &status));
    break;
  case 1:
    printf("lstat %s", name);
    show(&status, lstat(name, &status));
    break;
  case 2:
    printf("fstat");
    show(&status, fstat(*slot(), &status));
    break;
  default:
    printf("list %s", name);
    list(name, NULL);
  }
}

static void times(void) {
  struct timespec times[2] = {{next(2000000000), next(1000000000)}, {next(2000000000), next(1000000000)}};
  struct stat status;
  const char *name = path();
  int result;
  if (next(2)) {
    printf("utimensat %s", name);
    result = utimensat(AT_FDCWD, name, times, 0);
    result = result ? result : stat(name, &status);
  } else {
    int fd = *slot();
    printf("futimens");
    result = futimens(fd, times);
    result = result ? result : fstat(fd, &status);
  }
  if (result == 0) {
    printf(" %lld.%09ld", (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  said(result);
}

static void change(void) {
  const char *name = path(), *other = path(), *gone = removable();
  switch (next(9)) {
  case 0:
    printf("mkdir %s", name);
    said(mkdir(name, 0777));
    break;
  case 1:
    printf("rmdir %s", gone);
    said(rmdir(gone));
    break;
  case 2:
    printf("unlink %s", gone);
    said(unlink(gone));
    break;
  case 3:
  case 4:
    printf("rename %s %s", name, other);
    done(rename(name, other));
    break;
  case 5:
    printf("link %s %s", name, other);
    done(link(name, other));
    break;
  case 6: {
    static const char *const targets[] = {"a", "b", "../b", "c/d", "link", "./a/", "absent"};
    const char *target = targets[next(COUNT(targets))];
    /* One part below "state", so that no link leads out of it. */
    char at[64];
    snprintf(at, sizeof at, "state/%s", next(2) ? "link" : "d");
    target = strncmp(target, "..", 2) ? target : "b";
    printf("symlink %s %s", target, at);
    said(symlink(target, at));
    break;
  }
  case 7: {
    char target[100];
    size_t length = next(12) + 1;
    ssize_t got = readlink(name, target, length);
    printf("readlink %s %.*s", name, got < 0 ? 0 : (int)got, target);
    said(got);
    break;
  }
  default: {
    off_t size = next(3) ? next(500) : next(300000);
    printf("ftruncate %lld", (long long)size);
    said(ftruncate(*slot(), size));
  }
  }
}

int main(int count, char **arguments) {
  if (count < 3) {
    return 2;
  }
  state = strtoull(arguments[1], NULL, 10) * 0x9E3779B97F4A7C15u + 1;
  for (long left = strtol(arguments[2], NULL, 10); left; left--) {
    static void (*const does[])(void) = {open_one, open_one, write_some, read_some, place, look, look, times, change, change, change};
    does[next(COUNT(does))]();
  }
  for (size_t i = 0; i < COUNT(file); i++) {
    close(file[i]);
  }
  left("state");
  return 0;
}
