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
    {"num-workers", "workers"}, /* PyTorch, Keras, Hugging Face */
    {"num-epochs", "epochs"},
    {"scheduler", "schedule"},
    {"lr-scheduler", "schedule"},
    {"validation-split", "val-split"},
    {"max-grad-norm", "clip"},
    {"gradient-accumulation-steps", "accumulate"},
};

/* What trainings elsewhere have a flag for, and what does it here. */
static const char *const of_training[][2] = {
    {"momentum", "it is a number of the optimizer: --optimizer sgd:momentum=0.9"},
    {"nesterov", "it is a number of the optimizer: --optimizer sgd:momentum=0.9,nesterov=1"},
    {"beta1", "it is a number of the optimizer: --optimizer adam:beta1=0.9"},
    {"beta2", "it is a number of the optimizer: --optimizer adam:beta2=0.99"},
    {"betas", "they are numbers of the optimizer: --optimizer adam:beta1=0.9,beta2=0.99"},
    {"eps", "it is a number of the optimizer: --optimizer adam:epsilon=1e-6"},
    {"epsilon", "it is a number of the optimizer: --optimizer adam:epsilon=1e-6"},
    {"label-smoothing", "it is a number of the loss: --loss cross_entropy:smoothing=0.1"},
    {"dropout", "it is a layer of the model: h = dropout(h, 0.1)"},
    {"gamma", "it is a number of the schedule: --schedule step:every=1000,factor=0.5"},
    {"fp16", "--amp f16 computes in 16 bits"},
    {"bf16", "--amp bf16 computes in 16 bits"},
    {"early-stopping", "--val-split 0.1 --patience 3 --epochs 100 stops when nothing improves"},
    {"val-data", "--val-split 0.1 holds out samples; takt eval takes data of its own"},
    {"validation-data", "--val-split 0.1 holds out samples; takt eval takes data of its own"},
    {"test-data", "--val-split 0.1 holds out samples; takt eval takes data of its own"},
    {"shuffle", "samples are shuffled; --no-shuffle takes them in order"},
    {"save", "-o FILE writes the model, --checkpoint DIR the state of the training"},
    {"tensorboard", "--log FILE writes a line of JSON for each step, --curve FILE a picture"},
};

static const char *training_hint(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof of_training / sizeof *of_training; i++)
        if (strlen(of_training[i][0]) == length && strncmp(of_training[i][0], word, length) == 0)
            return of_training[i][1];
    return NULL;
}

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
    if (strcmp(t->verb->name, "train") == 0 && training_hint(word, length) != NULL)
        return training_hint(word, length);
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
