// What the application answers and keeps, natively: `make test`.
#undef NDEBUG
#include "notes.h"

#include <assert.h>
#include <string.h>

static const char *FILE_NAME = "build/test-notes.json";
static char answered[4096];

// The exit status of a call; the document is in `answered`.
#define CALL(...) call((char *[]){__VA_ARGS__, NULL})
static int call(char **words) {
    int count = 0;
    while (words[count]) count++;
    FILE *out = tmpfile();
    assert(out);
    int status = answer(count, words, FILE_NAME, out);
    rewind(out);
    answered[fread(answered, 1, sizeof answered - 1, out)] = 0;
    fclose(out);
    return status;
}

static void keep(const char *text) {
    FILE *file = fopen(FILE_NAME, "wb");
    assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void is_kept(const char *text) {
    char kept[4096];
    FILE *file = fopen(FILE_NAME, "rb");
    assert(file);
    kept[fread(kept, 1, sizeof kept - 1, file)] = 0;
    fclose(file);
    assert(strcmp(kept, text) == 0);
}

static void what_is_added_is_listed(void) {
    remove(FILE_NAME);
    assert(CALL("list") == 0 && strstr(answered, "\"total\":0,\"limit\":100,\"hasMore\":false,\"items\":[]}\n"));
    assert(CALL("add", "Buy milk") == 0 && strstr(answered, "\"items\":[{\"id\":\"note_0001\",\"text\":\"Buy milk\"}]}\n"));
    assert(CALL("add", "--", "-1 \"é\"\n") == 0);
    assert(CALL("list", "--limit=1") == 0);
    assert(strstr(answered, "\"count\":1,\"total\":2,\"limit\":1,\"hasMore\":true,\"items\":[{\"id\":\"note_0001\",\"text\":\"Buy milk\"}]}\n"));
    assert(CALL("list", "--limit", "9") == 0 && strstr(answered, "milk\"},{\"id\":\"note_0002\",\"text\":\"-1 \\\"é\\\"\\u000a\"}]}\n"));
    is_kept("{\"version\":1,\"nextId\":\"note_0003\",\"items\":[\n{\"id\":\"note_0001\",\"text\":\"Buy milk\"},\n"
            "{\"id\":\"note_0002\",\"text\":\"-1 \\\"é\\\"\\u000a\"}\n]}\n");
}

static void other_calls_are_refused(void) {
    assert(call((char *[]){NULL}) == 2);
    assert(CALL("nosuch") == 2 && CALL("add") == 2 && CALL("add", "a", "b") == 2);
    assert(CALL("list", "x") == 2 && CALL("list", "--limit", "0") == 2 && CALL("list", "--limit=1x") == 2);
    assert(strstr(answered, "{\"ok\":false,\"error\":{\"code\":\"USAGE\",") == answered);
}

static void a_file_of_something_else_is_left_as_it_is(void) {
    static const char *OTHER[] = {
        "", "[]", "{}", "{\"version\":2,\"nextId\":\"note_0001\",\"items\":[\n]}\n",
        "{\"version\":1,\"nextId\":\"note_0002\",\"items\":[\n1\n]}\n", "{\"version\":1,\"nextId\":\"note_0002\",\"items\":[\n]}",
    };
    for (size_t at = 0; at < sizeof OTHER / sizeof *OTHER; at++) {
        keep(OTHER[at]);
        assert(CALL("add", "x") == 1 && strstr(answered, "STATE_CORRUPT"));
        is_kept(OTHER[at]);
    }
}

int main(void) {
    what_is_added_is_listed();
    other_calls_are_refused();
    a_file_of_something_else_is_left_as_it_is();
    puts("3 tests passed");
    return 0;
}
