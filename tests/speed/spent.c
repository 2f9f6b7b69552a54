// What a program takes: `spent REPORT PROGRAM ARGUMENTS…` runs it and writes nanoseconds from its start to its end, microseconds of
// processors, and its peak of memory in KiB to the file REPORT. The system tells all of it (wait4), for this one process and those that
// it waited for. Of this program's own memory the peak holds what a child has before it becomes another program: it is small.
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

int main(int count, char **words) {
    if (count < 3) return 2;
    struct timespec begun, ended;
    struct rusage used;
    pid_t child;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    int failed = posix_spawnp(&child, words[2], NULL, NULL, words + 2, environ);
    if (failed != 0) {
        fprintf(stderr, "%s: %s\n", words[2], strerror(failed));
        return 127;
    }
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR) return 1;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    long long wall = (ended.tv_sec - begun.tv_sec) * 1000000000LL + (ended.tv_nsec - begun.tv_nsec);
    long long busy = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    FILE *report = fopen(words[1], "w");
    if (!report || fprintf(report, "%lld %lld %ld\n", wall, busy, used.ru_maxrss) < 0 || fclose(report) != 0) return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
