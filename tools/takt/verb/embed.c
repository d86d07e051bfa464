/* embed.c - a text as a vector. */
#include <stdlib.h>

#include "text.h"

static void tell(const takt_tool *t, const float *vector, size_t count)
{
    const bool is_json = tool_format_of(t) == TAKT_FORMAT_JSON;
    printf(is_json ? "{\"embedding\": [" : "");
    for (size_t i = 0; i < count; i++)
        printf(is_json ? "%s%.9g" : "%s%.6f",
               i == 0    ? ""
               : is_json ? ", "
                         : " ",
               (double)vector[i]);
    puts(is_json ? "]}" : "");
}

static int run(takt_tool *t)
{
    takt_embedder *e;
    tool_prompt prompt;
    const takt_generator_options how = tool_text_options(t);
    int code = tool_take_prompt(t, t->arg_count > 1 ? t->args[1] : NULL, &prompt);
    if (code != TAKT_EXIT_OK)
        return code;
    code = tool_finish(t, takt_embedder_open(t->ctx, tool_readable(tool_model_path(t)), &how, &e));
    if (code == TAKT_EXIT_OK) {
        float *vector = calloc(takt_embedder_size(e) + 1, sizeof *vector);
        code = vector == NULL ? TAKT_EXIT_FAILED
                              : tool_finish(t, takt_embed(e, prompt.text, prompt.length, vector));
        if (code == TAKT_EXIT_OK)
            tell(t, vector, takt_embedder_size(e));
        free(vector);
        takt_embedder_destroy(e);
    }
    tool_free_prompt(&prompt);
    return code;
}

const takt_verb takt_verb_embed = {
    .name = "embed",
    .task = TAKT_TASK_TEXT,
    .summary = "compute the embedding of a text, by a sentence encoder",
    .arguments = "MODEL [TEXT]",
    .arg_min = 1,
    .arg_max = 2,
    .about =
        "MODEL is a sentence encoder (BERT or T5), as a GGUF file, a Hugging Face folder or a\n"
        ".taktp of one. Vectors have length 1: the scalar product of two is the cosine\n"
        "similarity of their texts.",
    .example = "takt embed tests/corpus/gguf/tiny_bert.gguf \"a b\"",
    .flags = {TAKT_F_MODEL, TAKT_F_PROMPT, TAKT_F_PROMPT_FILE, TAKT_F_ESCAPE, TAKT_F_TEXT_CONTEXT,
              TAKT_F_THREADS, TAKT_F_ISA, TAKT_FLAG_IDS},
    .run = run,
};
