/* The C interface as a program in C uses it, under the address sanitizer, and under valgrind. Arguments: the to-do package, the probe, a
 * host's options, and how often calls are repeated. Each check says what failed. */
#define _POSIX_C_SOURCE 200809L
#include "hutch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *package;

#define CHECK(condition)                                                                                                 \
    do {                                                                                                                 \
        if (!(condition)) {                                                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                              \
            exit(1);                                                                                                     \
        }                                                                                                                \
    } while (0)

static int holds(hutch_bytes bytes, const char *text) {
    size_t length = strlen(text);
    for (size_t at = 0; bytes.length >= length && at + length <= bytes.length; at++)
        if (memcmp(bytes.data + at, text, length) == 0) return 1;
    return 0;
}

static int call(hutch_host host, const char *command, const char *more, hutch_answer *answer) {
    char request[4096];
    int length = snprintf(request, sizeof request, "{\"command\":\"%s\",\"package\":\"%s\"%s}", command, package, more);
    CHECK(length > 0 && (size_t)length < sizeof request);
    return hutch_call(host, request, (size_t)length, NULL, 0, answer);
}

/* The host of the threads, and how many adds were answered well. */
static hutch_host shared;
static int added, adds_each = 10;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *adds(void *unused) {
    (void)unused;
    for (int at = 0; at < adds_each; at++) {
        hutch_answer answer;
        if (call(shared, "run", ",\"arguments\":[\"add\",\"milk\"],\"retry\":1000", &answer) == 0) {
            pthread_mutex_lock(&lock);
            added++;
            pthread_mutex_unlock(&lock);
        }
        hutch_answer_free(&answer);
    }
    return NULL;
}

int main(int count, char **arguments) {
    CHECK(count == 5);
    package = arguments[1];
    const char *const options = arguments[3];
    const int repeated = atoi(arguments[4]);
    if (repeated < adds_each) adds_each = repeated;
    CHECK(hutch_abi() == HUTCH_ABI && strlen(hutch_version()) > 0);

    hutch_answer answer;
    CHECK(hutch_open("{", 1, &answer) == 0 && answer.status == 2 && holds(answer.json, "\"USAGE\""));
    hutch_answer_free(&answer);
    CHECK(hutch_open("{\"homes\":1}", 11, NULL) == 0);

    hutch_host host = hutch_open(options, strlen(options), &answer);
    CHECK(host != 0 && answer.status == 0 && answer.json.data == NULL);
    hutch_answer_free(&answer);

    /* What the guest wrote is there beside the document, and an answer may be given up twice. */
    CHECK(call(host, "run", ",\"arguments\":[\"add\",\"milk\"]", &answer) == 0);
    CHECK(answer.status == 0 && holds(answer.json, "\"ok\":true") && holds(answer.json, "\"kept\":true"));
    CHECK(answer.out.length > 0 && answer.out.data[0] == '{' && answer.err.length == 0);
    hutch_answer_free(&answer);
    CHECK(answer.json.data == NULL && answer.json.length == 0 && answer.out.data == NULL);
    hutch_answer_free(&answer);
    hutch_answer_free(NULL);

    /* Refusals: of no form, not UTF-8, of nothing, and where nobody wants the answer. */
    const char *const broken[] = {"", "{", "[1]", "\xff\xfe", "{\"command\":\"run\"}", "null"};
    for (size_t at = 0; at < sizeof broken / sizeof *broken; at++) {
        CHECK(hutch_call(host, broken[at], strlen(broken[at]), NULL, 0, &answer) == 2);
        CHECK(holds(answer.json, "\"error\":true") && answer.out.data == NULL);
        hutch_answer_free(&answer);
    }
    CHECK(hutch_call(host, NULL, 7, NULL, 7, NULL) == 2);
    CHECK(call(host, "run", ",\"arguments\":[\"list\"]", NULL) == 0);
    CHECK(call(host, "run", ",\"arguments\":[\"list\"],\"deadline_ms\":0", &answer) != 0);
    CHECK(holds(answer.json, "\"CANCELLED\""));
    hutch_answer_free(&answer);
    CHECK(hutch_cancel(host, "nobody", 6) == 0 && hutch_cancel(host, NULL, 0) == 0 && hutch_cancel(host, "\xff", 1) == 0);

    /* Guests that fault and guests that do not end are their own affair. */
    package = arguments[2];
    CHECK(call(host, "run", ",\"arguments\":[\"trap\"]", &answer) == 45 && holds(answer.json, "\"GUEST_TRAPPED\""));
    hutch_answer_free(&answer);
    CHECK(call(host, "run", ",\"arguments\":[\"recurse\"]", &answer) != 0 && holds(answer.json, "\"limited\""));
    hutch_answer_free(&answer);
    const char *endless = ",\"arguments\":[\"spin\"],\"limits\":{\"fuel\":1000000000000000,\"wall_time_ms\":600000},\"deadline_ms\":3000";
    CHECK(call(host, "run", endless, &answer) != 0 && holds(answer.json, "\"CANCELLED\""));
    hutch_answer_free(&answer);
    package = arguments[1];
    CHECK(call(host, "undo", ",\"deadline_ms\":0", &answer) != 0 && holds(answer.json, "\"CANCELLED\""));
    hutch_answer_free(&answer);

    /* Threads share a host. */
    shared = host;
    pthread_t threads[8];
    for (int at = 0; at < 8; at++) CHECK(pthread_create(&threads[at], NULL, adds, NULL) == 0);
    for (int at = 0; at < 8; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    CHECK(added == 8 * adds_each);
    CHECK(call(host, "verify", ",\"all\":true", &answer) == 0 && holds(answer.json, "\"differ\":0"));
    hutch_answer_free(&answer);

    /* A handle that is closed is refused, one that never was too, and the others go on. */
    hutch_host other = hutch_open(options, strlen(options), NULL);
    CHECK(other != 0 && other != host);
    hutch_close(host);
    hutch_close(host);
    hutch_close(0);
    CHECK(call(host, "run", ",\"arguments\":[\"list\"]", &answer) == 2 && holds(answer.json, "not open"));
    hutch_answer_free(&answer);
    CHECK(call(99, "run", ",\"arguments\":[\"list\"]", NULL) == 2 && hutch_cancel(99, "a", 1) == 0);
    CHECK(call(other, "run", ",\"arguments\":[\"list\"]", NULL) == 0);

    /* Many calls leave nothing behind: the leak sanitizer looks when the program ends. */
    for (int at = 0; at < repeated; at++) {
        CHECK(call(other, "run", ",\"arguments\":[\"list\"]", &answer) == 0);
        hutch_answer_free(&answer);
    }
    hutch_close(other);
    puts("the C interface holds");
    return 0;
}
