/* Requests, one a line on standard input; answers, one a line on standard output: {"status": N, "json": …, "out": HEX, "err": HEX}.
 * The argument is a host's options. */
#define _POSIX_C_SOURCE 200809L
#include "hutch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hex(const char *name, hutch_bytes bytes) {
    printf(",\"%s\":\"", name);
    for (size_t at = 0; at < bytes.length; at++) printf("%02x", bytes.data[at]);
    putchar('"');
}

int main(int count, char **arguments) {
    if (count != 2 || hutch_abi() != HUTCH_ABI) return 1;
    hutch_host host = hutch_open(arguments[1], strlen(arguments[1]), NULL);
    if (host == 0) return 1;
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, stdin)) > 0;) {
        hutch_answer answer;
        hutch_call(host, line, (size_t)length, NULL, 0, &answer);
        printf("{\"status\":%d,\"json\":%.*s", answer.status, (int)answer.json.length, (const char *)answer.json.data);
        hex("out", answer.out);
        hex("err", answer.err);
        puts("}");
        fflush(stdout);
        hutch_answer_free(&answer);
    }
    free(line);
    hutch_close(host);
    return 0;
}
