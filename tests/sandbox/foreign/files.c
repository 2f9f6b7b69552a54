/* Ordinary C for an ordinary libc: file work in the folder "state", then exit status 7, or 0 if told to end well. It knows
   nothing of the host that runs it. Each step that does not do what POSIX says ends it with the step's line on stderr. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, strerror(errno));                                    \
      exit(99);                                                                                                        \
    }                                                                                                                  \
  } while (0)

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int count, char **arguments) {
  CHECK(mkdir("state/notes", 0777) == 0);
  CHECK(mkdir("state/notes", 0777) == -1 && errno == EEXIST);

  FILE *file = fopen("state/notes/first.txt", "w");
  CHECK(file && fputs("hello\n", file) >= 0 && fclose(file) == 0);
  file = fopen("state/notes/first.txt", "a");
  CHECK(file && fprintf(file, "%s\n", "world") > 0 && fclose(file) == 0);
  CHECK(rename("state/notes/first.txt", "state/notes/second.txt") == 0);
  CHECK(fopen("state/notes/first.txt", "r") == NULL && errno == ENOENT);
  CHECK(fopen("/etc/passwd", "r") == NULL);
  CHECK(fopen("state/../../etc/passwd", "r") == NULL);

  struct stat status;
  CHECK(stat("state/notes/second.txt", &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 12);

  char text[64] = {0};
  int descriptor = open("state/notes/second.txt", O_RDWR);
  CHECK(descriptor >= 0 && lseek(descriptor, 6, SEEK_SET) == 6 && read(descriptor, text, sizeof text) == 6);
  CHECK(strcmp(text, "world\n") == 0);
  CHECK(pwrite(descriptor, "WORLD", 5, 6) == 5 && ftruncate(descriptor, 11) == 0 && fsync(descriptor) == 0);
  CHECK(close(descriptor) == 0);

  for (int number = 0; number < 20; number++) {
    char path[64];
    snprintf(path, sizeof path, "state/notes/file-%02d", (number * 7) % 20);
    file = fopen(path, "w");
    CHECK(file && fprintf(file, "%d", number) > 0 && fclose(file) == 0);
  }
  CHECK(unlink("state/notes/file-13") == 0 && unlink("state/notes/file-13") == -1 && errno == ENOENT);
  CHECK(rmdir("state/notes") == -1 && errno == ENOTEMPTY);

  char *names[64];
  int entries = 0;
  DIR *folder = opendir("state/notes");
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] != '.') {
      names[entries++] = strdup(entry->d_name);
    }
  }
  CHECK(closedir(folder) == 0 && entries == 20);
  qsort(names, entries, sizeof *names, compare);

  struct timespec before, after, pause = {3600, 0};
  CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0 && nanosleep(&pause, NULL) == 0);
  CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0 && after.tv_sec - before.tv_sec == 3600);

  file = fopen("state/notes/second.txt", "r");
  memset(text, 0, sizeof text);
  CHECK(file && fread(text, 1, sizeof text, file) == 11 && feof(file) && fclose(file) == 0);
  printf("{\"text\":\"%.5s %.5s\",\"entries\":%d,\"first\":\"%s\",\"last\":\"%s\",\"year\":%d,\"arguments\":%d}\n", text, text + 6,
         entries, names[0], names[entries - 1], 1970 + (int)(time(NULL) / 31556952), count);
  return count > 1 && strcmp(arguments[1], "well") == 0 ? 0 : 7;
}
