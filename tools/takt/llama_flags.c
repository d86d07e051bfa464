/* llama_flags.c - flags of llama.cpp that have no counterpart: what to write instead. A flag
 * without effect would be worse than a refusal, but a command line that was copied should not need
 * a search through two manuals. */
#include <string.h>

#include "tool.h"

typedef struct row {
    const char *names; /* separated by spaces */
    const char *hint;  /* for verbs that have all flags in it */
} row;

static const row all[] = {
    {"ngl gpu-layers n-gpu-layers dev device sm split-mode ts tensor-split mg main-gpu nkvo ncmoe "
     "cmoe",
     "language models are computed on the processor: leave it out"},
    {"fa flash-attn", "there is one way to compute attention: leave it out"},
    {"mlock mmap no-mmap dio direct-io", "weights are always read into memory: leave it out"},
    {"warmup no-warmup", "there is no run to warm up: leave it out"},
    {"jinja no-jinja", "chat templates are always run as Jinja: leave it out"},
    {"no-cnv no-conversation", "the prompt is continued unless there is --chat: leave it out"},
    {"st single-turn", "write --chat for one answer"},
    {"i", "write --interactive for a conversation"},
    {"if interactive-first", "write --interactive without a prompt"},
    {"hf hfr hf-repo hff hf-file mu model-url", "models are not downloaded: give a file or folder"},
    {"keep context-shift no-context-shift",
     "a text ends where the context is full: leave it out, or give more by -c N"},
    {"no-escape", "\\n stays as it is without -e: leave it out"},
    {"mm mmproj mmu image audio", "models of images and sounds are not read"},
    {"lora lora-scaled control-vector", "adapters are not read: merge it into the model first"},
    {"rope-scaling rope-scale rope-freq-base rope-freq-scale yarn-orig-ctx yarn-ext-factor "
     "yarn-attn-factor override-kv",
     "settings of a model are those of its file"},
    {"verbose-prompt", "`takt tokenize` shows the tokens of a text"},
    {"log-disable no-perf simple-io", "-q prints the text alone"},
    {"cb cont-batching kvu kv-unified", "requests are always joined: leave it out, or --kv-pool"},
};

static const row server[] = {
    {"metrics slots props", "/metrics and /health are always there: leave it out"},
    {"embedding embeddings", "a sentence encoder has /v1/embeddings: leave it out"},
    {"webui no-webui ui no-ui", "the page is always at /: leave it out"},
    {"a alias", "a model is called as its file is, without the ending"},
    {"to timeout", "requests wait for --queue-time; limits of connections are in docs/serving.md"},
};

/* Whether the verb has the flag that a word of a hint names; true for other words. */
static bool has_flag(const takt_verb *verb, const char *word, size_t length)
{
    const size_t dashes = strspn(word, "-");
    if (dashes == 0 || dashes >= length)
        return true;
    for (int id = 0; id < TAKT_FLAG_IDS; id++) {
        const tool_flag *flag = &tool_flags[id];
        const bool is_it = dashes == 1 ? length == 2 && flag->letter == word[1]
                                       : strlen(flag->name) == length - 2 &&
                                             memcmp(flag->name, word + 2, length - 2) == 0;
        if (is_it && tool_verb_takes(verb, (tool_flag_id)id))
            return true;
    }
    return false;
}

static bool fits(const takt_verb *verb, const char *hint)
{
    static const char ends[] = " ,;:";
    for (const char *at = hint; *at != '\0'; at += strspn(at, ends)) {
        const size_t length = strcspn(at, ends);
        if (!has_flag(verb, at, length))
            return false;
        at += length;
    }
    return true;
}

static const char *find(const row *rows, size_t count, const char *word, size_t length)
{
    for (size_t i = 0; i < count; i++)
        for (const char *at = rows[i].names; *at != '\0'; at += strspn(at, " ")) {
            const size_t n = strcspn(at, " ");
            if (n == length && memcmp(at, word, length) == 0)
                return rows[i].hint;
            at += n;
        }
    return NULL;
}

const char *tool_llama_hint(const takt_verb *verb, const char *word, size_t length)
{
    const char *hint = find(all, sizeof all / sizeof *all, word, length);
    const char *served = find(server, sizeof server / sizeof *server, word, length);
    const bool is_server = strcmp(verb->name, "serve") == 0;
    if (hint == NULL && served == NULL)
        return NULL;
    hint = is_server && served != NULL ? served : hint;
    return hint != NULL && fits(verb, hint) ? hint : "there is nothing like it here: leave it out";
}
