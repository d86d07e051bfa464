/* alias.c - flags known from other tools, where they mean the same. */
#include <string.h>

#include "tool.h"

static const char *const pairs[][2] = {
    {"repetitions", "repeat-process"}, /* llama-bench */
    {"num_threads", "threads"},        /* TFLite */
    {"num_runs", "iterations"},
    {"warmup_runs", "warmup"},
    {"graph", "model"},
    {"niter", "iterations"}, /* OpenVINO */
    {"nireq", "streams"},
    {"hint", "hint"},     /* our name, with OpenVINO's single dash */
    {"warmUp", "warmup"}, /* trtexec */
};

/* Synonyms from llama.cpp and other tools, for all verbs. */
static const char *const texts[][2] = {
    {"device", "backend"},
    {"grammar-file", "grammar"},
    {"json-schema-file", "json-schema"},
    {"temperature", "temp"},
    {"predict", "n-predict"},
    {"conversation", "interactive"},
    {"api-key-file", "api-key"},
    {"top-nsigma", "top-n-sigma"},
    {"sampler-seq", "sampling-seq"},
    {"num-threads", "threads"},
    {"out", "output"},
    {"learning-rate", "lr"},
    {"optim", "optimizer"},
    {"batch", "batch-size"},
    {"dataset", "data"},
};

static bool verb_has(const takt_verb *verb, const char *name)
{
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        if (strcmp(tool_flags[id].name, name) == 0 && tool_verb_takes(verb, (tool_flag_id)id))
            return true;
    return false;
}

/* A few letters after one dash, as in llama.cpp: accepted without a note, since they are known
 * names. */
static const char *const letters[][2] = {
    {"cnv", "interactive"},   {"ctk", "cache-type-k"}, {"ctv", "cache-type-v"},
    {"jf", "json-schema"},    {"md", "model-draft"},   {"np", "parallel"},
    {"sys", "system-prompt"}, {"tb", "threads-batch"}, {"ub", "ubatch-size"},
};

const char *tool_letters(const takt_tool *t, const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strlen(letters[i][0]) == length && strncmp(letters[i][0], word, length) == 0 &&
            verb_has(t->verb, letters[i][1]))
            return letters[i][1];
    return NULL;
}

/* llama.cpp's --batch-size splits an input file, unlike --batch elsewhere. */
static bool is_run(const takt_tool *t)
{
    return strcmp(t->verb->name, "run") == 0;
}

const char *tool_foreign_hint(const takt_tool *t, const char *word, size_t length)
{
    if (t->verb->task == TAKT_TASK_TEXT)
        return tool_llama_hint(t->verb, word, length);
    const bool is_batch = (length == 1 && *word == 'b') ||
                          (length == 5 && strncmp(word, "batch", 5) == 0) ||
                          (length == 10 && strncmp(word, "batch-size", 10) == 0);
    return is_batch && verb_has(t->verb, "dim")
               ? "a batch is a dimension of the model: -D batch=N, or --shape x:Nx784; "
                 "`takt batch` adds one"
               : NULL;
}

const char *tool_alias(const takt_tool *t, const char *word, size_t length)
{
    const bool is_benchmark = strncmp(t->verb->name, "benchmark-", 10) == 0;
    const size_t known = sizeof texts / sizeof *texts;
    const size_t count = known + (is_benchmark ? sizeof pairs / sizeof *pairs : 0);
    for (size_t i = 0; i < count; i++) {
        const char *const *pair = i < known ? texts[i] : pairs[i - known];
        if (strlen(pair[0]) == length && strncmp(pair[0], word, length) == 0 &&
            verb_has(t->verb, pair[1]) && !(is_run(t) && strcmp(pair[0], "batch") == 0))
            return pair[1];
    }
    return NULL;
}
