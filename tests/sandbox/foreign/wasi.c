/* What WASI 0.1 itself says, call by call, where a C library does not reach: the numbers of descriptors, the folders that are open at
   the start, listings in pieces, clocks, and what can't be had. The folders are "state" and, read-only, "given/data". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

#define IS(call, expected)                                                                                             \
  do {                                                                                                                 \
    long long is = (call);                                                                                             \
    if (is != (expected)) {                                                                                            \
      fprintf(stderr, "line %d: %s is %lld\n", __LINE__, #call, is);                                                   \
      exit(99);                                                                                                        \
    }                                                                                                                  \
  } while (0)

enum { ROOT = 3, GIVEN = 4, STATE = 5 };

static __wasi_fd_t opened(__wasi_fd_t folder, const char *path, int flags, __wasi_rights_t rights) {
  __wasi_fd_t fd;
  IS(__wasi_path_open(folder, 0, path, flags, rights, 0, 0, &fd), 0);
  return fd;
}

static void start(void) {
  const char *names[] = {"/", "given/data", "state"};
  for (int fd = ROOT; fd <= STATE; fd++) {
    __wasi_prestat_t prestat;
    char name[32] = {0};
    IS(__wasi_fd_prestat_get(fd, &prestat), 0);
    IS(prestat.u.dir.pr_name_len, strlen(names[fd - ROOT]));
    IS(__wasi_fd_prestat_dir_name(fd, (uint8_t *)name, prestat.u.dir.pr_name_len - 1), __WASI_ERRNO_NAMETOOLONG);
    IS(__wasi_fd_prestat_dir_name(fd, (uint8_t *)name, prestat.u.dir.pr_name_len), 0);
    IS(strcmp(name, names[fd - ROOT]), 0);
  }
  __wasi_prestat_t prestat;
  IS(__wasi_fd_prestat_get(6, &prestat), __WASI_ERRNO_BADF);
  IS(__wasi_fd_prestat_get(1, &prestat), __WASI_ERRNO_BADF);
  __wasi_fdstat_t stat;
  for (int fd = 0; fd < 3; fd++) {
    IS(__wasi_fd_fdstat_get(fd, &stat), 0);
    IS(stat.fs_filetype, __WASI_FILETYPE_UNKNOWN);
    IS(stat.fs_rights_base, fd == 0 ? __WASI_RIGHTS_FD_READ : __WASI_RIGHTS_FD_WRITE);
  }
}

/* The folder above the others: everything is found below it, and nothing can be changed in it. */
static void root(void) {
  char buffer[512];
  __wasi_size_t used;
  IS(__wasi_fd_readdir(ROOT, (uint8_t *)buffer, sizeof buffer, 0, &used), 0);
  IS(used, 4 * sizeof(__wasi_dirent_t) + strlen("." ".." "given" "state"));
  __wasi_filestat_t root, parent, given, data, again, state;
  IS(__wasi_path_filestat_get(ROOT, 0, ".", &root), 0);
  IS(__wasi_path_filestat_get(ROOT, 0, "given", &given), 0);
  IS(__wasi_path_filestat_get(ROOT, 0, "given/..", &parent), 0);
  IS(__wasi_path_filestat_get(ROOT, 0, "/given//data/.", &data), 0);
  IS(__wasi_fd_filestat_get(GIVEN, &again), 0);
  IS(__wasi_path_filestat_get(ROOT, 0, "state", &state), 0);
  IS(root.ino == parent.ino && root.ino != given.ino && given.ino != data.ino && data.ino == again.ino && data.ino != state.ino, 1);
  IS(given.filetype, __WASI_FILETYPE_DIRECTORY);
  __wasi_fd_t fd = opened(ROOT, "state/by-root", __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_WRITE), inner, other;
  IS(__wasi_fd_close(fd), 0);
  IS(__wasi_path_filestat_get(STATE, 0, "by-root", &state), 0);
  IS(__wasi_path_open(ROOT, 0, "given", __WASI_OFLAGS_DIRECTORY, 0, 0, 0, &inner), 0);
  IS(__wasi_path_open(inner, 0, "data", __WASI_OFLAGS_DIRECTORY, 0, 0, 0, &other), 0);
  IS(__wasi_fd_filestat_get(other, &data), 0);
  IS(data.ino == again.ino, 1);
  IS(__wasi_fd_close(inner) | __wasi_fd_close(other), 0);
  IS(__wasi_path_open(ROOT, 0, "new", __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_WRITE, 0, 0, &fd), __WASI_ERRNO_ROFS);
  IS(__wasi_path_open(ROOT, 0, "etc/passwd", 0, __WASI_RIGHTS_FD_READ, 0, 0, &fd), __WASI_ERRNO_NOENT);
  IS(__wasi_path_open(ROOT, 0, "../etc/passwd", 0, __WASI_RIGHTS_FD_READ, 0, 0, &fd), __WASI_ERRNO_PERM);
  IS(__wasi_path_open(ROOT, 0, "state/../given/data/x", 0, __WASI_RIGHTS_FD_READ, 0, 0, &fd), __WASI_ERRNO_PERM);
  IS(__wasi_path_open(ROOT, 0, "given/data/new", __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_WRITE, 0, 0, &fd), __WASI_ERRNO_ROFS);
  IS(__wasi_path_open(ROOT, 0, "", 0, __WASI_RIGHTS_FD_READ, 0, 0, &fd), __WASI_ERRNO_NOENT);
  IS(__wasi_path_create_directory(ROOT, "new"), __WASI_ERRNO_ROFS);
  IS(__wasi_path_create_directory(ROOT, "given"), __WASI_ERRNO_EXIST);
  IS(__wasi_path_create_directory(ROOT, "state"), __WASI_ERRNO_EXIST);
  IS(__wasi_path_create_directory(ROOT, "state/made"), 0);
  IS(__wasi_path_remove_directory(ROOT, "given"), __WASI_ERRNO_BUSY);
  IS(__wasi_path_remove_directory(ROOT, "state/made"), 0);
  IS(__wasi_path_unlink_file(ROOT, "given"), __WASI_ERRNO_ISDIR);
  IS(__wasi_path_rename(ROOT, "given", ROOT, "taken"), __WASI_ERRNO_BUSY);
  IS(__wasi_path_rename(ROOT, "state/by-root", ROOT, "by-root"), __WASI_ERRNO_ROFS);
  IS(__wasi_path_rename(ROOT, "state/by-root", STATE, "moved"), 0);
  IS(__wasi_path_symlink("x", ROOT, "link"), __WASI_ERRNO_ROFS);
  IS(__wasi_fd_filestat_set_times(ROOT, 0, 0, __WASI_FSTFLAGS_MTIM), __WASI_ERRNO_ROFS);
}

static void numbers(void) {
  __wasi_fd_t a = opened(STATE, "a", __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_WRITE);
  __wasi_fd_t b = opened(STATE, "b", __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_WRITE);
  IS(a, 7);
  IS(b, 6);
  __wasi_size_t did;
  __wasi_ciovec_t text = {(const uint8_t *)"text", 4};
  IS(__wasi_fd_write(b, &text, 1, &did), 0);
  IS(__wasi_fd_renumber(b, 70), __WASI_ERRNO_BADF);
  IS(__wasi_fd_renumber(70, b), __WASI_ERRNO_BADF);
  IS(__wasi_fd_renumber(b, b), 0);
  IS(__wasi_fd_renumber(b, a), 0);
  IS(__wasi_fd_close(b), __WASI_ERRNO_BADF);
  __wasi_filesize_t at;
  IS(__wasi_fd_tell(a, &at), 0);
  IS(at, 4);
  IS(__wasi_fd_seek(a, INT64_MAX, __WASI_WHENCE_CUR, &at), __WASI_ERRNO_INVAL);
  IS(__wasi_fd_seek(a, 0, 3, &at), __WASI_ERRNO_INVAL);
  IS(__wasi_fd_seek(1, 0, __WASI_WHENCE_CUR, &at), __WASI_ERRNO_SPIPE);
  IS(__wasi_fd_seek(STATE, 0, __WASI_WHENCE_CUR, &at), __WASI_ERRNO_BADF);
  IS(opened(STATE, "a", 0, __WASI_RIGHTS_FD_READ), 6);
  IS(__wasi_fd_close(a), 0);
  IS(opened(STATE, "b", 0, __WASI_RIGHTS_FD_READ), 7);
  /* Of numbers that are free the highest is given again, as the stock engine does it. */
  IS(opened(STATE, "a", 0, __WASI_RIGHTS_FD_READ), 8);
  IS(__wasi_fd_close(8) | __wasi_fd_close(6) | __wasi_fd_close(7), 0);
  IS(opened(STATE, "a", 0, __WASI_RIGHTS_FD_READ), 8);
  IS(opened(STATE, "a", 0, __WASI_RIGHTS_FD_READ), 7);
  IS(__wasi_fd_close(7) | __wasi_fd_close(8), 0);
  /* A number of a stream that was replaced reads from the file. */
  __wasi_fd_t file = opened(STATE, "b", 0, __WASI_RIGHTS_FD_READ);
  IS(__wasi_fd_renumber(file, 0), 0);
  char byte;
  __wasi_iovec_t into = {(uint8_t *)&byte, 1};
  IS(__wasi_fd_read(0, &into, 1, &did), 0);
  IS(byte, 't');
  IS(__wasi_fd_pread(1, &into, 1, 0, &did), __WASI_ERRNO_SPIPE);
  IS(__wasi_fd_read(1, &into, 1, &did), __WASI_ERRNO_BADF);
  IS(__wasi_fd_read(STATE, &into, 0, &did), __WASI_ERRNO_ISDIR);
  IS(__wasi_path_open(1, 0, "x", 0, 0, 0, 0, &file), __WASI_ERRNO_NOTDIR);
  IS(__wasi_path_open(0, 0, "x", 0, 0, 0, 0, &file), __WASI_ERRNO_NOTDIR);
  IS(__wasi_path_open(99, 0, "x", 0, 0, 0, 0, &file), __WASI_ERRNO_BADF);
  IS(__wasi_path_open(STATE, 0, "\xff", 0, 0, 0, 0, &file), __WASI_ERRNO_ILSEQ);
  IS(__wasi_fd_advise(0, 0, 0, 6), __WASI_ERRNO_INVAL);
  IS(__wasi_fd_advise(0, 0, 0, __WASI_ADVICE_NOREUSE), 0);
  IS(__wasi_fd_allocate(0, 0, 1), __WASI_ERRNO_BADF);
  IS(__wasi_fd_fdstat_set_flags(0, __WASI_FDFLAGS_SYNC), __WASI_ERRNO_INVAL);
}

/* Whatever the size of the pieces, all names come once, and a cookie leads back to its place. */
static void listing(void) {
  for (char name[] = "n0"; name[1] <= '9'; name[1]++) {
    IS(__wasi_fd_close(opened(STATE, name, __WASI_OFLAGS_CREAT, __WASI_RIGHTS_FD_WRITE)), 0);
  }
  for (__wasi_size_t size = 25; size < 600; size += 7) {
    char all[256] = "";
    __wasi_dircookie_t cookie = 0, fourth = 0;
    for (int entries = 0;;) {
      uint8_t buffer[600], *at = buffer;
      __wasi_size_t used;
      IS(__wasi_fd_readdir(STATE, buffer, size, cookie, &used), 0);
      int before = entries;
      while (at + sizeof(__wasi_dirent_t) <= buffer + used) {
        __wasi_dirent_t entry;
        memcpy(&entry, at, sizeof entry);
        if (at + sizeof entry + entry.d_namlen > buffer + used) {
          break;
        }
        strncat(all, (char *)at + sizeof entry, entry.d_namlen);
        at += sizeof entry + entry.d_namlen;
        cookie = entry.d_next;
        if (++entries == 4) {
          fourth = cookie;
        }
      }
      if (used < size) {
        break;
      }
      if (entries == before) {
        /* Not even one fits: the next size. */
        IS(size < sizeof(__wasi_dirent_t) + 5, 1);
        all[0] = 0;
        break;
      }
    }
    if (all[0]) {
      IS(strcmp(all, "...abmovedn0n1n2n3n4n5n6n7n8n9"), 0);
      uint8_t buffer[25 + 8];
      __wasi_size_t used;
      IS(__wasi_fd_readdir(STATE, buffer, sizeof buffer, fourth, &used), 0);
      IS(memcmp(buffer + sizeof(__wasi_dirent_t), "moved", 5), 0);
    }
  }
  uint8_t few[8];
  __wasi_size_t used;
  IS(__wasi_fd_readdir(STATE, few, 0, 0, &used) | used, 0);
  IS(__wasi_fd_readdir(STATE, few, sizeof few, 99, &used) | used, 0);
  IS(__wasi_fd_readdir(0, few, sizeof few, 0, &used), __WASI_ERRNO_NOTDIR);
}

static void time_goes_on(void) {
  __wasi_timestamp_t wall, before, after, cpu;
  IS(__wasi_clock_time_get(__WASI_CLOCKID_REALTIME, 1, &wall), 0);
  IS(__wasi_clock_time_get(__WASI_CLOCKID_MONOTONIC, 1, &before), 0);
  IS(__wasi_clock_time_get(__WASI_CLOCKID_PROCESS_CPUTIME_ID, 1, &cpu), 0);
  IS(cpu > before, 1);
  IS(__wasi_clock_time_get(7, 1, &cpu), __WASI_ERRNO_INVAL);
  IS(__wasi_clock_res_get(7, &cpu), __WASI_ERRNO_INVAL);
  const __wasi_timestamp_t hour = 3600000000000;
  __wasi_subscription_t all[4] = {
      {.userdata = 1, .u = {__WASI_EVENTTYPE_CLOCK, {.clock = {__WASI_CLOCKID_REALTIME, wall + hour, 0, __WASI_SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME}}}},
      {.userdata = 2, .u = {__WASI_EVENTTYPE_CLOCK, {.clock = {__WASI_CLOCKID_MONOTONIC, 2 * hour, 0, 0}}}},
      {.userdata = 3, .u = {__WASI_EVENTTYPE_CLOCK, {.clock = {__WASI_CLOCKID_MONOTONIC, hour / 2, 0, __WASI_SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME}}}},
      {.userdata = 4, .u = {__WASI_EVENTTYPE_FD_READ, {.fd_read = {99}}}},
  };
  __wasi_event_t events[4];
  __wasi_size_t ready;
  IS(__wasi_poll_oneoff(all, events, 3, &ready), 0);
  IS(ready, 1);
  IS(events[0].userdata, 3);
  IS(__wasi_poll_oneoff(all, events, 2, &ready), 0);
  IS(ready, 1);
  IS(events[0].userdata, 1);
  IS(__wasi_clock_time_get(__WASI_CLOCKID_REALTIME, 1, &after), 0);
  IS(after, wall + hour);
  IS(__wasi_poll_oneoff(all, events, 4, &ready), 0);
  IS(ready, 3);
  IS(events[2].error, __WASI_ERRNO_BADF);
  IS(__wasi_poll_oneoff(all, events, 0, &ready), __WASI_ERRNO_INVAL);
  all[0].u.u.clock.id = 9;
  IS(__wasi_poll_oneoff(all, events, 1, &ready), 0);
  IS(events[0].error, __WASI_ERRNO_INVAL);
}

static void missing(void) {
  __wasi_size_t size;
  __wasi_roflags_t flags;
  __wasi_iovec_t into = {0, 0};
  __wasi_ciovec_t from = {0, 0};
  IS(__wasi_sock_recv(1, &into, 1, 0, &size, &flags), __WASI_ERRNO_NOTSOCK);
  IS(__wasi_sock_send(99, &from, 1, 0, &size), __WASI_ERRNO_BADF);
  IS(__wasi_sock_shutdown(STATE, 1), __WASI_ERRNO_NOTSOCK);
  IS(__wasi_fd_fdstat_set_rights(STATE, 0, 0), __WASI_ERRNO_NOTSUP);
  IS(__wasi_sched_yield(), 0);
}

int main(void) {
  start();
  root();
  numbers();
  listing();
  time_goes_on();
  missing();
  puts("as WASI says");
  return 0;
}
