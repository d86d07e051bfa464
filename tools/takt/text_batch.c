/* text_batch.c - a file of prompts, one per line, several of which are continued at a time. */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "measure.h"
#include "signals.h"
#include "text.h"

typedef struct paper {
    char *text; /* owned; terminated, unless NULL */
    size_t length;
} paper;

typedef struct batch {
    takt_tool *t;
    takt_generator *g;
    const takt_generate_options *options;
    char **prompts;          /* owned, and each */
    paper *papers;           /* owned */
    takt_generated *results; /* owned */
    size_t count, room;
    bool is_short_of_memory;
} batch;

bool tool_is_batch(const takt_tool *t)
{
    return tool_number_of(t, TAKT_F_PARALLEL, 0) > 0 && tool_text_of(t, TAKT_F_PROMPT_FILE) != NULL;
}

static int no_memory(const batch *b)
{
    return tool_usage_error(b->t, 9003, NULL, "out of memory for the texts");
}

/* ---- prompts ---- */

static bool add(batch *b, const char *text, size_t length)
{
    if (b->count == b->room) {
        char **more = realloc(b->prompts, (2 * b->room + 16) * sizeof *more);
        if (more == NULL)
            return false;
        b->prompts = more;
        b->room = 2 * b->room + 16;
    }
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    b->prompts[b->count++] = copy;
    return true;
}

/* A user message, by the chat template. */
static int add_said(batch *b, const char *said)
{
    tool_chat c;
    const char *system = tool_text_of(b->t, TAKT_F_SYSTEM_PROMPT);
    int code = tool_chat_open(b->t, takt_generator_tokenizer(b->g), &c);
    if (code == TAKT_EXIT_OK && ((system != NULL && !tool_chat_say(&c, "system", system)) ||
                                 !tool_chat_say(&c, "user", said)))
        code = no_memory(b);
    if (code == TAKT_EXIT_OK)
        code = tool_chat_render(b->t, &c);
    if (code == TAKT_EXIT_OK && !add(b, c.text, c.length))
        code = no_memory(b);
    tool_chat_close(&c);
    return code;
}

/* One line; -e has not been applied to a file of prompts, since it would add lines. */
static int take_line(batch *b, const char *at, size_t length, bool is_chat)
{
    int code = TAKT_EXIT_OK;
    if (length > 0 && at[length - 1] == '\r')
        length--;
    if (length == 0)
        return TAKT_EXIT_OK;
    char *line = malloc(length + 1);
    if (line == NULL)
        return no_memory(b);
    memcpy(line, at, length);
    line[length] = '\0';
    if (tool_on(b->t, TAKT_F_ESCAPE))
        length = tool_unescape(line, length);
    if (is_chat)
        code = add_said(b, line);
    else if (!add(b, line, length))
        code = no_memory(b);
    free(line);
    return code;
}

static int take_lines(batch *b, const tool_prompt *lines, bool is_chat)
{
    int code = TAKT_EXIT_OK;
    for (size_t at = 0, next; at < lines->length && code == TAKT_EXIT_OK; at = next + 1) {
        const char *end = memchr(lines->text + at, '\n', lines->length - at);
        next = end != NULL ? (size_t)(end - lines->text) : lines->length;
        code = take_line(b, lines->text + at, next - at, is_chat);
    }
    return code;
}

int tool_check_batch(const takt_tool *t, const tool_prompt *lines)
{
    if (tool_on(t, TAKT_F_INTERACTIVE) || tool_text_of(t, TAKT_F_PROMPT_CACHE) != NULL)
        return tool_usage_error(t, 1003, "leave one of them out",
                                "a file of prompts (--parallel) is not a conversation and has no "
                                "prompt cache");
    if (strspn(lines->text, "\r\n") == lines->length)
        return tool_usage_error(t, 1002, "write one prompt a line", "the file has no prompt");
    return TAKT_EXIT_OK;
}

/* ---- texts ---- */

static int put(void *user, size_t index, const char *text, size_t length)
{
    batch *b = user;
    paper *p = &b->papers[index];
    char *more = realloc(p->text, p->length + length + 1);
    if (more == NULL) {
        b->is_short_of_memory = true;
        return -1;
    }
    memcpy(more + p->length, text, length);
    p->text = more;
    p->length += length;
    p->text[p->length] = '\0';
    return tool_is_interrupted() ? -1 : 0;
}

static void tell_one(const batch *b, size_t i, bool is_json, bool shows)
{
    static const char *const ends[] = {"length", "eos", "context", "stop"};
    const char *text = b->papers[i].text != NULL ? b->papers[i].text : "";
    const takt_generated *r = &b->results[i];
    if (!is_json) {
        printf("--- %zu\n%s%s\n", i + 1, shows ? b->prompts[i] : "", text);
        return;
    }
    printf("%s{\"text\": ", i == 0 ? "[" : ",\n ");
    tool_print_string(stdout, text);
    printf(", \"end\": \"%s\", \"prompt_tokens\": %zu, \"tokens\": %zu, \"seed\": %llu}",
           ends[r->end], r->prompt_tokens, r->tokens,
           (unsigned long long)b->options->sampling.seed);
}

static void tell(const batch *b, uint64_t ns, bool is_chat)
{
    const bool is_json = tool_format_of(b->t) == TAKT_FORMAT_JSON;
    const bool shows =
        !is_chat && !takt_generator_has_encoder(b->g) && !tool_on(b->t, TAKT_F_NO_DISPLAY_PROMPT);
    size_t prompts = 0, tokens = 0, count = b->count;
    while (tool_is_interrupted() && count > 0 && b->results[count - 1].prompt_tokens == 0)
        count--; /* it did not start */
    for (size_t i = 0; i < count; i++) {
        tell_one(b, i, is_json, shows);
        prompts += b->results[i].prompt_tokens;
        tokens += b->results[i].tokens;
    }
    if (is_json)
        printf("%s]\n", count == 0 ? "[" : "");
    (void)fflush(stdout);
    if (!is_json && !tool_on(b->t, TAKT_F_QUIET))
        fprintf(stderr,
                "\n%zu prompts, %zu at a time: %zu tokens read and %zu written in %.2f s, "
                "%.1f tokens/s; seed %llu\n",
                count, (size_t)tool_number_of(b->t, TAKT_F_PARALLEL, 1), prompts, tokens,
                (double)ns * 1e-9, ns > 0 ? 1e9 * (double)tokens / (double)ns : 0,
                (unsigned long long)b->options->sampling.seed);
}

static int write_all(batch *b, bool is_chat)
{
    b->papers = calloc(b->count, sizeof *b->papers);
    b->results = calloc(b->count, sizeof *b->results);
    if (b->papers == NULL || b->results == NULL)
        return no_memory(b);
    const uint64_t begin = tool_now_ns();
    const takt_prompts prompts = {(const char *const *)b->prompts, b->count};
    const takt_status status = takt_generate_many(b->g, &prompts, b->options, put, b, b->results);
    const uint64_t ns = tool_now_ns() - begin;
    if (status == TAKT_OK && b->is_short_of_memory)
        return no_memory(b);
    if (status == TAKT_OK)
        tell(b, ns, is_chat);
    return tool_finish(b->t, status);
}

int tool_write_batch(takt_tool *t, takt_generator *g, const takt_generate_options *options,
                     const tool_prompt *lines, bool is_chat)
{
    batch b = {.t = t, .g = g, .options = options};
    int code = take_lines(&b, lines, is_chat);
    if (code == TAKT_EXIT_OK)
        code = write_all(&b, is_chat);
    for (size_t i = 0; i < b.count; i++) {
        free(b.prompts[i]);
        if (b.papers != NULL)
            free(b.papers[i].text);
    }
    free(b.prompts);
    free(b.papers);
    free(b.results);
    return code;
}
