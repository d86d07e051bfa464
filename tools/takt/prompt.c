/* prompt.c - the input text of a verb. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "text.h"

size_t tool_unescape(char *text, size_t length)
{
    static const char from[] = "nrt\\\"'", to[] = "\n\r\t\\\"'";
    size_t out = 0;
    for (size_t i = 0; i < length; i++) {
        const char *known = text[i] == '\\' && i + 1 < length && text[i + 1] != '\0'
                                ? strchr(from, text[i + 1])
                                : NULL;
        if (known != NULL)
            i++;
        text[out++] = known != NULL ? to[known - from] : text[i];
    }
    text[out] = '\0';
    return out;
}

static int no_memory(takt_tool *t)
{
    return tool_usage_error(t, 9003, NULL, "out of memory for the text");
}

static int read_file(takt_tool *t, const char *path, tool_prompt *p)
{
    size_t room = 0;
    FILE *f = fopen(tool_readable(path), "rb");
    if (f == NULL)
        return tool_usage_error(t, 3001, NULL, "cannot open %s: %s", path, strerror(errno));
    for (;;) {
        if (p->length + 1 >= room) {
            room = room > 0 ? 2 * room : 1 << 16;
            char *more = realloc(p->text, room);
            if (more == NULL) {
                fclose(f);
                return no_memory(t);
            }
            p->text = more;
        }
        const size_t got = fread(p->text + p->length, 1, room - 1 - p->length, f);
        p->length += got;
        if (got == 0)
            break;
    }
    p->text[p->length] = '\0';
    const bool failed = ferror(f) != 0;
    fclose(f);
    return failed ? tool_usage_error(t, 3002, NULL, "cannot read %s", path) : TAKT_EXIT_OK;
}

/* `takt perplexity m.gguf text.txt` measures the words "text.txt". */
static void note_file(const takt_tool *t, const char *text)
{
    struct stat facts;
    if (stat(text, &facts) == 0 && S_ISREG(facts.st_mode) && !tool_on(t, TAKT_F_QUIET))
        fprintf(stderr, "takt: the text is \"%s\" itself; -f reads the file\n", text);
}

int tool_take_prompt(takt_tool *t, const char *word, tool_prompt *prompt)
{
    const char *text = word != NULL ? word : tool_text_of(t, TAKT_F_PROMPT);
    const char *file = tool_text_of(t, TAKT_F_PROMPT_FILE);
    int code = TAKT_EXIT_OK;
    *prompt = (tool_prompt){0};
    if (text == NULL && file == NULL)
        return tool_usage_error(t, 1002, "give it behind the model, by -p TEXT, or by -f FILE",
                                "the text is missing");
    if (text != NULL && file != NULL)
        return tool_usage_error(t, 1003, "give one of them", "there is a text and a file of one");
    if (word != NULL && tool_is_flag(t, TAKT_F_PROMPT))
        return tool_usage_error(t, 1003,
                                word[0] == '{' ? "-j prints JSON; a schema is --json-schema F"
                                               : "give one of them",
                                "there are two texts, -p and %.40s", word);
    if (text != NULL) {
        note_file(t, text);
        prompt->length = strlen(text);
        prompt->text = malloc(prompt->length + 1);
        if (prompt->text == NULL)
            return no_memory(t);
        memcpy(prompt->text, text, prompt->length + 1);
    } else {
        code = read_file(t, file, prompt);
    }
    if (code == TAKT_EXIT_OK && tool_on(t, TAKT_F_ESCAPE) && !tool_is_batch(t))
        prompt->length = tool_unescape(prompt->text, prompt->length);
    return code;
}

void tool_free_prompt(tool_prompt *prompt)
{
    free(prompt->text);
    *prompt = (tool_prompt){0};
}

int tool_prompt_ids(takt_tool *t, const takt_tokenizer *tokens, const tool_prompt *prompt,
                    unsigned flags, takt_token_ids *ids)
{
    *ids = (takt_token_ids){0};
    takt_status status = takt_tokenize(tokens, prompt->text, prompt->length, flags, ids);
    if (status != TAKT_OK)
        return tool_finish(t, status);
    ids->capacity = ids->count;
    ids->at = calloc(ids->count + 1, sizeof *ids->at);
    if (ids->at == NULL)
        return no_memory(t);
    status = takt_tokenize(tokens, prompt->text, prompt->length, flags, ids);
    if (status != TAKT_OK)
        free(ids->at);
    return tool_finish(t, status);
}

/* -b and -ub: here both say how much of a prompt one run reads. */
static int64_t batch_of(const takt_tool *t)
{
    const uint64_t batch = tool_number_of(t, TAKT_F_TEXT_BATCH, 0);
    const uint64_t part = tool_number_of(t, TAKT_F_TEXT_UBATCH, 0);
    return (int64_t)(batch == 0 || (part > 0 && part < batch) ? part : batch);
}

takt_generator_options tool_text_options(const takt_tool *t)
{
    return (takt_generator_options){.size = sizeof(takt_generator_options),
                                    .context = (int64_t)tool_number_of(t, TAKT_F_TEXT_CONTEXT, 0),
                                    .batch = batch_of(t),
                                    .threads_batch =
                                        (int)tool_number_of(t, TAKT_F_THREADS_BATCH, 0),
                                    .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0),
                                    .isa = tool_text_of(t, TAKT_F_ISA),
                                    .activations = tool_text_of(t, TAKT_F_ACTIVATIONS),
                                    .cache_type_k = tool_text_of(t, TAKT_F_CACHE_TYPE_K),
                                    .cache_type_v = tool_text_of(t, TAKT_F_CACHE_TYPE_V)};
}

takt_generator_options tool_writer_options(const takt_tool *t)
{
    takt_generator_options o = tool_text_options(t);
    if (o.activations == NULL)
        o.activations = "int8";
    return o;
}

void tool_tell_rounding(const takt_tool *t, const takt_generator *g)
{
    if (takt_generator_rounds(g) && !tool_on(t, TAKT_F_QUIET) &&
        tool_format_of(t) != TAKT_FORMAT_JSON)
        fprintf(stderr,
                "activations are quantised to 8 bits in blocks; --activations f32 is exact\n");
}

void tool_print_server(const takt_server_memory *m, bool is_json)
{
    const unsigned long long weights = m->weights, caches = m->caches, arena = m->arena;
    const long long context = m->context, pages = m->pages, tokens = m->page_tokens;
    if (is_json) {
        printf("{\"weights\": %llu, \"caches\": %llu, \"arena\": %llu, \"parallel\": %d, "
               "\"context\": %lld, \"pages\": %lld, \"page_tokens\": %lld}\n",
               weights, caches, arena, m->parallel, context, pages, tokens);
        return;
    }
    printf("memory: weights %llu bytes, caches %llu bytes ", weights, caches);
    if (pages > 0)
        printf("(a pool of %lld pages of %lld tokens)", pages, tokens);
    else
        printf("(%d x %lld tokens)", m->parallel, context);
    printf(", arena %llu bytes\n", arena);
}
