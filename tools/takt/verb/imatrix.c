/* imatrix.c - the importance of the columns of a language model's matrices. */
#include <stdlib.h>

#include "text.h"

static void tell(const takt_tool *t, const char *to, size_t matrices, size_t tokens)
{
    if (tool_on(t, TAKT_F_QUIET))
        return;
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%s: %zu matrices, %zu tokens\n", to, matrices, tokens);
        return;
    }
    printf("{\"file\": ");
    tool_print_string(stdout, to);
    printf(", \"matrices\": %zu, \"tokens\": %zu}\n", matrices, tokens);
}

static int write_file(takt_tool *t, const char *model, const takt_token_ids *ids)
{
    const char *to = tool_text_of(t, TAKT_F_IMATRIX_FILE);
    const size_t context = (size_t)tool_number_of(t, TAKT_F_TEXT_CONTEXT, 512);
    const size_t piece = context > 0 && context < ids->count ? context : ids->count;
    const size_t read = piece > 0 ? ids->count - ids->count % piece : 0; /* whole pieces */
    size_t matrices = 0;
    const takt_imatrix_options o = {.size = sizeof o,
                                    .context = (int64_t)context,
                                    .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0),
                                    .about = tool_text_of(t, TAKT_F_PROMPT_FILE),
                                    .matrices = &matrices};
    tool_spare_reads(t);
    const takt_status status = takt_imatrix_write(t->ctx, model, ids->at, read, &o, to);
    if (tool_spared(t) != NULL)
        return tool_usage_error(t, 1003, "write to another file",
                                "%s is read for this, and would be written over", tool_spared(t));
    const int code = tool_finish(t, status);
    if (code == TAKT_EXIT_OK)
        tell(t, to, matrices, read);
    return code;
}

static int run(takt_tool *t)
{
    tool_prompt prompt;
    takt_token_ids ids;
    takt_tokenizer *tokens = NULL;
    const char *model = tool_readable(tool_model_path(t));
    if (tool_text_of(t, TAKT_F_IMATRIX_FILE) == NULL)
        return tool_usage_error(t, 1003, "write -o F.gguf", "there is no file to write to");
    int code = tool_take_prompt(t, t->arg_count > 1 ? t->args[1] : NULL, &prompt);
    if (code != TAKT_EXIT_OK)
        return code;
    code = tool_finish(t, takt_tokenizer_load(t->ctx, model, &tokens));
    if (code == TAKT_EXIT_OK)
        code = tool_prompt_ids(t, tokens, &prompt, TAKT_TOKENIZE_ADD, &ids);
    if (code == TAKT_EXIT_OK) {
        code = write_file(t, model, &ids);
        free(ids.at);
    }
    takt_tokenizer_destroy(tokens);
    tool_free_prompt(&prompt);
    return code;
}

const takt_verb takt_verb_imatrix = {
    .name = "imatrix",
    .task = TAKT_TASK_SHRINK,
    .summary = "compute the importance matrix of a language model",
    .arguments = "MODEL [TEXT] -o F.gguf",
    .arg_min = 1,
    .arg_max = 2,
    .about = "Reads a text in pieces of the context size (-c, default 512) and writes the mean\n"
             "square of the inputs of each column of every matrix, as llama.cpp does, for takt\n"
             "quantize --imatrix. Use a model in F32 or F16, and a text similar to those that the\n"
             "model will read.",
    .example = "takt imatrix tests/corpus/gguf/tiny.gguf -p \"a b a b\" -c 4 -o /tmp/takt-im.gguf",
    .flags = {TAKT_F_PROMPT, TAKT_F_PROMPT_FILE, TAKT_F_ESCAPE, TAKT_F_TEXT_CONTEXT,
              TAKT_F_IMATRIX_FILE, TAKT_F_THREADS, TAKT_FLAG_IDS},
    .run = run,
};
