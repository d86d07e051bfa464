/* generate.c - continues a text. */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "signals.h"
#include "text.h"

typedef struct job {
    takt_tool *t;
    takt_generate_options options;
    tool_sampling_room room;
    takt_grammar *grammar; /* owned */
    takt_generator *draft; /* owned */
    char *text;            /* of --json, and answers of a conversation; owned */
    size_t length;
    size_t prompt_end; /* tokens up to the last answer of a conversation */
    bool is_json, keeps;
    takt_generator *g;
} job;

/* ---- flags ---- */

/* llama.cpp takes the text itself, so both are taken: what looks like one is not the name of a
 * file. */
static bool is_text(const char *value, bool is_schema)
{
    return is_schema ? value[strspn(value, " \t\r\n")] == '{' : strstr(value, "::=") != NULL;
}

/* --grammar or --json-schema. */
static int read_grammar(job *j)
{
    const char *grammar = tool_text_of(j->t, TAKT_F_GRAMMAR);
    const char *schema = tool_text_of(j->t, TAKT_F_JSON_SCHEMA);
    const char *path = grammar != NULL ? grammar : schema;
    size_t length;
    if (path == NULL)
        return TAKT_EXIT_OK;
    if (grammar != NULL && schema != NULL)
        return tool_usage_error(j->t, 1003, "give one of them", "there is a grammar and a schema");
    char *text = tool_whole_file(tool_readable(path), &length);
    if (text == NULL && is_text(path, grammar == NULL)) {
        text = strdup(path);
        length = strlen(path);
    }
    if (text == NULL)
        return tool_usage_error(j->t, 3001,
                                grammar != NULL ? "give a file, or a grammar: root ::= \"a\""
                                                : "give a file, or a schema: {\"type\": ...}",
                                "cannot read %s", path);
    const int code = tool_finish(
        j->t, grammar != NULL ? takt_grammar_parse(j->t->ctx, text, length, &j->grammar)
                              : takt_grammar_of_schema(j->t->ctx, text, length, &j->grammar));
    free(text);
    j->options.grammar = j->grammar;
    return code;
}

/* ---- writing ---- */

static int put(void *user, const char *text, size_t length)
{
    job *j = user;
    if (!j->is_json) {
        (void)fwrite(text, 1, length, stdout);
        (void)fflush(stdout);
    }
    if (!j->is_json && !j->keeps)
        return tool_is_interrupted();
    char *more = realloc(j->text, j->length + length + 1);
    if (more == NULL)
        return 1;
    memcpy(more + j->length, text, length);
    j->text = more;
    j->length += length;
    j->text[j->length] = '\0';
    return tool_is_interrupted();
}

static void tell(const job *j, const takt_generated *r)
{
    static const char *const ends[] = {"length", "eos", "context", "stop"};
    const size_t read = r->prompt_tokens - r->cached_tokens;
    const double prompt = r->prompt_ns > 0 ? 1e9 * (double)read / r->prompt_ns : 0;
    const double rate = r->ns > 0 ? 1e9 * (double)r->tokens / r->ns : 0;
    char shares[2][40];
    tool_text_shares(j->t, j->g, r, shares);
    if (j->is_json) {
        printf("{\"text\": ");
        tool_print_string(stdout, j->text != NULL ? j->text : "");
        printf(
            ", \"end\": \"%s\", \"prompt_tokens\": %zu, \"cached_tokens\": %zu, \"tokens\": %zu, "
            "\"prompt_tokens_per_s\": %.1f, \"tokens_per_s\": %.1f, %s%s\"drafted\": %zu, "
            "\"accepted\": %zu, \"seed\": %llu}\n",
            ends[r->end], r->prompt_tokens, r->cached_tokens, r->tokens, prompt, rate, shares[0],
            shares[1], r->drafted, r->accepted, (unsigned long long)j->options.sampling.seed);
        return;
    }
    putchar('\n');
    fflush(stdout);
    if (tool_on(j->t, TAKT_F_QUIET))
        return;
    fprintf(stderr,
            "\nprompt %zu tokens, %.1f tokens/s%s; text %zu tokens, %.1f tokens/s%s; end: %s",
            r->prompt_tokens, prompt, shares[0], r->tokens, rate, shares[1], ends[r->end]);
    if (r->cached_tokens > 0)
        fprintf(stderr, "; %zu tokens of the prompt were cached", r->cached_tokens);
    if (r->drafted > 0)
        fprintf(stderr, "; guesses: %zu of %zu accepted", r->accepted, r->drafted);
    if (j->options.sampling.temperature > 0)
        fprintf(stderr, "; seed %llu", (unsigned long long)j->options.sampling.seed);
    fputc('\n', stderr);
}

/* ---- conversations ---- */

/* Whether the model's tokens so far are a prefix of the text; then only the rest is read. */
static const char *rest_of(const tool_chat *c, const char *before)
{
    const size_t length = before != NULL ? strlen(before) : 0;
    return length > 0 && length <= c->length && memcmp(c->text, before, length) == 0
               ? c->text + length
               : NULL;
}

/* One answer. `*before` is the model's text so far; owned. */
static int answer(job *j, takt_generator *g, tool_chat *c, char **before)
{
    takt_generated result;
    int code = tool_chat_render(j->t, c);
    if (code != TAKT_EXIT_OK)
        return code;
    const char *rest = rest_of(c, *before);
    j->options.reuse = rest == NULL;
    j->length = 0;
    j->prompt_end = rest != NULL ? (size_t)takt_generator_position(g) : 0;
    code = tool_finish(
        j->t, takt_generate(g, rest != NULL ? rest : c->text, &j->options, put, j, &result));
    if (code != TAKT_EXIT_OK)
        return code;
    j->prompt_end += result.prompt_tokens;
    tell(j, &result);
    const char *said = j->length > 0 ? j->text : "";
    char *all = malloc(c->length + j->length + 1);
    if (all == NULL || !tool_chat_say(c, "assistant", said)) {
        free(all);
        return tool_usage_error(j->t, 9003, NULL, "out of memory for the conversation");
    }
    memcpy(all, c->text, c->length);
    memcpy(all + c->length, said, j->length + (j->length > 0));
    all[c->length + j->length] = '\0';
    free(*before);
    *before = all;
    return TAKT_EXIT_OK;
}

/* The next line that is typed, without its end; NULL at the end. */
static char *next_line(const job *j)
{
    char *line = NULL;
    size_t room = 0;
    if (!j->is_json)
        fputs("> ", stdout);
    fflush(stdout);
    const ssize_t length = getline(&line, &room, stdin);
    if (length < 0) {
        free(line);
        return NULL;
    }
    if (length > 0 && line[length - 1] == '\n')
        line[length - 1] = '\0';
    return line;
}

static int converse(job *j, takt_generator *g, const tool_prompt *prompt)
{
    tool_chat c;
    char *before = NULL, *line = NULL;
    const char *system = tool_text_of(j->t, TAKT_F_SYSTEM_PROMPT);
    int code = tool_chat_open(j->t, takt_generator_tokenizer(g), &c);
    bool good = code == TAKT_EXIT_OK;
    j->keeps = true;
    if (good && system != NULL)
        good = tool_chat_say(&c, "system", system);
    if (good && prompt->text != NULL) {
        good = tool_chat_say(&c, "user", prompt->text);
        code = good ? answer(j, g, &c, &before) : code;
    }
    while (good && code == TAKT_EXIT_OK && tool_on(j->t, TAKT_F_INTERACTIVE) &&
           (line = next_line(j)) != NULL) {
        tool_interrupts_again();
        good = tool_chat_say(&c, "user", line);
        code = good ? answer(j, g, &c, &before) : code;
        free(line);
    }
    if (good && code == TAKT_EXIT_OK && before != NULL)
        code = tool_save_prompt(j->t, g, j->prompt_end);
    free(before);
    tool_chat_close(&c);
    return good || code != TAKT_EXIT_OK
               ? code
               : tool_usage_error(j->t, 9003, NULL, "out of memory for the conversation");
}

static int write_text(job *j, takt_generator *g, const tool_prompt *prompt)
{
    takt_generated result;
    /* The input of an encoder is not a prefix of the decoder's output. */
    const bool continues = !takt_generator_has_encoder(g);
    const bool shows = continues && !j->is_json && !tool_on(j->t, TAKT_F_NO_DISPLAY_PROMPT);
    if (shows)
        (void)put(j, prompt->text, prompt->length);
    j->options.reuse = true;
    const takt_status status = takt_generate(g, prompt->text, &j->options, put, j, &result);
    if (status != TAKT_OK && shows) /* a failure is reported on a separate line */
        (void)put(j, "\n", 1);
    const int code = tool_finish(j->t, status);
    if (code != TAKT_EXIT_OK)
        return code;
    tell(j, &result);
    return tool_save_prompt(j->t, g, result.prompt_tokens);
}

/* ---- the model ---- */

static int open_model(job *j, const tool_prompt *prompt, bool is_chat)
{
    takt_tool *t = j->t;
    const bool is_plain = !is_chat && !tool_is_batch(t);
    tool_text_check check = {.t = t,
                             .sampling = &j->options.sampling,
                             .prompt = is_plain ? prompt : NULL,
                             .is_chat = is_chat};
    takt_generator_options how = tool_writer_options(t);
    how.parallel = tool_is_batch(t) ? (int)tool_number_of(t, TAKT_F_PARALLEL, 1) : 0;
    how.pool_bytes = tool_number_of(t, TAKT_F_KV_POOL, 0);
    how.speculates = !tool_is_batch(t) && (j->options.lookup || j->draft != NULL);
    how.check = tool_check_text;
    how.check_user = &check;
    const takt_status status =
        takt_generator_open(t->ctx, tool_readable(tool_model_path(t)), &how, &j->g);
    return check.code != TAKT_EXIT_OK ? check.code : tool_finish(t, status);
}

/* With a model that is open. */
static int write_with(job *j, const tool_prompt *prompt, bool is_chat)
{
    tool_signals before;
    int code = tool_load_prompt(j->t, j->g);
    if (code != TAKT_EXIT_OK)
        return code;
    tool_tell_rounding(j->t, j->g);
    tool_interrupts_catch(&before);
    code = tool_is_batch(j->t) ? tool_write_batch(j->t, j->g, &j->options, prompt, is_chat)
           : is_chat           ? converse(j, j->g, prompt)
                               : write_text(j, j->g, prompt);
    tool_signals_restore(&before);
    return code;
}

/* A prompt would end there. */
static int check_bytes(takt_tool *t, const tool_prompt *prompt)
{
    const size_t length = strlen(prompt->text);
    return length == prompt->length
               ? TAKT_EXIT_OK
               : tool_usage_error(t, 1003, "-f FILE is a text, -m MODEL the model",
                                  "the prompt has a byte 0 at position %zu", length);
}

static int run(takt_tool *t)
{
    job j = {.t = t, .is_json = tool_format_of(t) == TAKT_FORMAT_JSON};
    tool_prompt prompt = {0};
    const bool is_typed = tool_on(t, TAKT_F_INTERACTIVE);
    const bool is_chat =
        is_typed || tool_on(t, TAKT_F_CHAT) || tool_text_of(t, TAKT_F_CHAT_TEMPLATE) != NULL;
    const bool has_prompt = t->arg_count > 1 || tool_text_of(t, TAKT_F_PROMPT) != NULL ||
                            tool_text_of(t, TAKT_F_PROMPT_FILE) != NULL;
    if (!tool_read_sampling(t, &j.options, &j.room) || tool_check_pairs(t) != TAKT_EXIT_OK)
        return TAKT_EXIT_USAGE;
    int code = read_grammar(&j);
    if (code == TAKT_EXIT_OK && (has_prompt || !is_typed))
        code = tool_take_prompt(t, t->arg_count > 1 ? t->args[1] : NULL, &prompt);
    if (code == TAKT_EXIT_OK && prompt.length > 0)
        code = check_bytes(t, &prompt);
    if (code == TAKT_EXIT_OK && tool_is_batch(t))
        code = tool_check_batch(t, &prompt);
    if (code == TAKT_EXIT_OK)
        code = tool_open_draft(t, &j.options, &j.draft);
    if (code == TAKT_EXIT_OK)
        code = open_model(&j, &prompt, is_chat);
    if (code == TAKT_EXIT_OK)
        code = write_with(&j, &prompt, is_chat);
    takt_generator_destroy(j.draft);
    takt_generator_destroy(j.g);
    free(j.text);
    takt_grammar_destroy(j.grammar);
    tool_free_prompt(&prompt);
    return code;
}

const takt_verb takt_verb_generate = {
    .name = "generate",
    .task = TAKT_TASK_TEXT,
    .is_main = true,
    .summary = "generate text with a language model",
    .arguments = "MODEL [PROMPT]",
    .arg_min = 1,
    .arg_max = 2,
    .about =
        "MODEL is a GGUF file, a Hugging Face folder or a .taktp of one; the flags are those\n"
        "of llama.cpp. The text is printed as it is generated, followed by the speed. The same\n"
        "seed gives the same text on every machine, with any number of threads. Ctrl-C ends\n"
        "the text. With --chat the prompt is a user message. With -f FILE --parallel N every\n"
        "non-empty line of the file is a prompt, and N texts are generated concurrently.",
    .example = "takt generate tests/corpus/gguf/tiny.gguf -p \"a b\" -n 8 --temp 0",
    .often = (const tool_flag_id[]){TAKT_F_PROMPT, TAKT_F_PROMPT_FILE, TAKT_F_TEXT_LENGTH,
                                    TAKT_F_TEXT_CONTEXT, TAKT_F_TEMP, TAKT_F_TOP_K, TAKT_F_TOP_P,
                                    TAKT_F_TEXT_SEED, TAKT_F_CHAT, TAKT_F_JSON_SCHEMA,
                                    TAKT_F_THREADS, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,
              TAKT_F_PROMPT,
              TAKT_F_PROMPT_FILE,
              TAKT_F_ESCAPE,
              TAKT_F_TEXT_LENGTH,
              TAKT_F_TEXT_CONTEXT,
              TAKT_F_TEXT_BATCH,
              TAKT_F_TEXT_UBATCH,
              TAKT_F_THREADS_BATCH,
              TAKT_F_PARALLEL,
              TAKT_F_KV_POOL,
              TAKT_F_TEMP,
              TAKT_F_TOP_K,
              TAKT_F_TOP_P,
              TAKT_F_MIN_P,
              TAKT_F_TYPICAL,
              TAKT_F_REPEAT_PENALTY,
              TAKT_F_REPEAT_LAST_N,
              TAKT_F_PRESENCE_PENALTY,
              TAKT_F_FREQUENCY_PENALTY,
              TAKT_F_MIROSTAT,
              TAKT_F_MIROSTAT_LR,
              TAKT_F_MIROSTAT_ENT,
              TAKT_F_LOGIT_BIAS,
              TAKT_F_SAMPLERS,
              TAKT_F_SAMPLING_SEQ,
              TAKT_F_DYNATEMP_RANGE,
              TAKT_F_DYNATEMP_EXP,
              TAKT_F_TOP_N_SIGMA,
              TAKT_F_XTC_PROBABILITY,
              TAKT_F_XTC_THRESHOLD,
              TAKT_F_DRY_MULTIPLIER,
              TAKT_F_DRY_BASE,
              TAKT_F_DRY_ALLOWED_LENGTH,
              TAKT_F_DRY_PENALTY_LAST_N,
              TAKT_F_DRY_SEQUENCE_BREAKER,
              TAKT_F_TEXT_SEED,
              TAKT_F_REVERSE_PROMPT,
              TAKT_F_IGNORE_EOS,
              TAKT_F_SHOW_SPECIAL,
              TAKT_F_NO_DISPLAY_PROMPT,
              TAKT_F_CHAT,
              TAKT_F_CHAT_TEMPLATE,
              TAKT_F_SYSTEM_PROMPT,
              TAKT_F_INTERACTIVE,
              TAKT_F_GRAMMAR,
              TAKT_F_JSON_SCHEMA,
              TAKT_F_MODEL_DRAFT,
              TAKT_F_LOOKUP,
              TAKT_F_DRAFT,
              TAKT_F_DRAFT_P_MIN,
              TAKT_F_PROMPT_CACHE,
              TAKT_F_PROMPT_CACHE_ALL,
              TAKT_F_PROMPT_CACHE_RO,
              TAKT_F_ACTIVATIONS,
              TAKT_F_CACHE_TYPE_K,
              TAKT_F_CACHE_TYPE_V,
              TAKT_F_THREADS,
              TAKT_F_ISA,
              TAKT_FLAG_IDS},
    .run = run,
};
