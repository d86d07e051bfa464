/* tokenize.c - a text as the tokens of a model, or tokens as a text. */
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* "[1, 403, 407]" or "1 403 407". If NULL, an error was printed, or memory is short. */
static int32_t *read_ids(takt_tool *t, const char *list, size_t *count)
{
    int32_t *ids = calloc(strlen(list) + 1, sizeof *ids);
    *count = 0;
    for (const char *at = list + strspn(list, "[], \t\r\n"); ids != NULL && *at != '\0';
         at += strspn(at, "[], \t\r\n")) {
        char *end;
        const long id = strtol(at, &end, 10);
        if (end == at || id < INT32_MIN || id > INT32_MAX) {
            free(ids);
            (void)tool_usage_error(t, 1003, "--decode \"1 403 407\"",
                                   "ids are whole numbers, not %.20s", at);
            return NULL;
        }
        ids[(*count)++] = (int32_t)id;
        at = end;
    }
    return ids;
}

static int decode(takt_tool *t, const takt_tokenizer *tokens, const char *list)
{
    size_t count;
    takt_token_text text = {0};
    int32_t *ids = read_ids(t, list, &count);
    if (ids == NULL)
        return TAKT_EXIT_USAGE;
    takt_status status = takt_detokenize(tokens, ids, count, TAKT_DETOKENIZE_CONTROL, &text);
    if (status == TAKT_OK && (text.at = malloc(text.length + 1)) != NULL) {
        text.capacity = text.length;
        status = takt_detokenize(tokens, ids, count, TAKT_DETOKENIZE_CONTROL, &text);
        text.at[text.length] = '\n';
    }
    if (status == TAKT_OK && text.at != NULL)
        (void)tool_to_stdout(NULL, text.at, text.length + 1);
    free(text.at);
    free(ids);
    return tool_finish(t, status);
}

static int list_ids(takt_tool *t, const takt_tokenizer *tokens, const takt_token_ids *ids)
{
    if (!tool_on(t, TAKT_F_IDS) || tool_format_of(t) == TAKT_FORMAT_JSON)
        return tool_finish(t, takt_tokens_report(tokens, ids->at, ids->count, tool_format_of(t),
                                                 tool_to_screen, t));
    putchar('[');
    for (size_t i = 0; i < ids->count; i++)
        printf(i > 0 ? ", %d" : "%d", ids->at[i]);
    puts("]");
    return TAKT_EXIT_OK;
}

static int encode(takt_tool *t, const takt_tokenizer *tokens)
{
    tool_prompt prompt;
    takt_token_ids ids;
    unsigned flags = tool_on(t, TAKT_F_NO_BOS) ? 0 : TAKT_TOKENIZE_ADD;
    flags |= tool_on(t, TAKT_F_NO_PARSE_SPECIAL) ? 0 : TAKT_TOKENIZE_PARSE;
    int code = tool_take_prompt(t, t->arg_count > 1 ? t->args[1] : NULL, &prompt);
    if (code == TAKT_EXIT_OK)
        code = tool_prompt_ids(t, tokens, &prompt, flags, &ids);
    if (code == TAKT_EXIT_OK) {
        code = list_ids(t, tokens, &ids);
        free(ids.at);
    }
    tool_free_prompt(&prompt);
    return code;
}

static int run(takt_tool *t)
{
    takt_tokenizer *tokens;
    const char *ids = tool_text_of(t, TAKT_F_DECODE), *path = tool_readable(tool_model_path(t));
    int code = tool_finish(t, takt_tokenizer_load(t->ctx, path, &tokens));
    if (code != TAKT_EXIT_OK)
        return code;
    code = ids != NULL ? decode(t, tokens, ids) : encode(t, tokens);
    takt_tokenizer_destroy(tokens);
    return code;
}

const takt_verb takt_verb_tokenize = {
    .name = "tokenize",
    .task = TAKT_TASK_TEXT,
    .summary = "convert text to tokens, or tokens to text",
    .arguments = "MODEL [TEXT]",
    .arg_min = 1,
    .arg_max = 2,
    .about = "MODEL is a GGUF file, a tokenizer.json or .model, or a folder with one. The text is\n"
             "the second argument, -p, or a file (-f, - for standard input). The tokens that the\n"
             "model expects around a text are added, and names of special tokens are recognised.",
    .example = "takt tokenize tests/corpus/tokenizer/tiny.json \"hello world\"",
    .flags = {TAKT_F_MODEL, TAKT_F_PROMPT, TAKT_F_PROMPT_FILE, TAKT_F_ESCAPE, TAKT_F_IDS,
              TAKT_F_DECODE, TAKT_F_NO_BOS, TAKT_F_NO_PARSE_SPECIAL, TAKT_FLAG_IDS},
    .run = run,
};
