/* layers.c - layer_types of config.json: which layers attend to all keys and which to a window. The
 * architecture's text has a rule for this; a list that contradicts it is refused. */
#include <stdio.h>
#include <string.h>

#include "io/hf/hf.h"

static bool is_full(const takt_json *v)
{
    return v->kind == TAKT_JSON_STRING && strcmp(v->text, "full_attention") == 0;
}

/* "#: full N [KEY]": every Nth layer has full attention, the others have a window. 0: there is no
 * such line, and all layers are equal. */
static int64_t period_of(const takt_hf *h)
{
    takt_hf_lines lines = takt_hf_lines_of(h->architecture);
    takt_hf_line line;
    char key[96];
    while (takt_hf_next(&lines, &line)) {
        if (!takt_hf_is(&line, "full") || line.count < 2)
            continue;
        int64_t period = 0;
        for (size_t i = 0; i < line.word[1].length; i++)
            period = 10 * period + (line.word[1].at[i] - '0');
        if (line.count == 2)
            return period;
        (void)snprintf(key, sizeof key, "%.*s", (int)line.word[2].length, line.word[2].at);
        period = takt_hf_integer(h, key, period);
        return period > 0 ? period : INT64_MAX;
    }
    return 0;
}

bool takt_hf_has_no_window(const takt_hf *h)
{
    const takt_json *list = takt_hf_member(h->config, "layer_types");
    if (list == NULL || list->kind != TAKT_JSON_ARRAY || list->count == 0 || period_of(h) != 0)
        return false;
    for (const takt_json *v = takt_json_first(list); v != NULL; v = takt_json_next(v))
        if (!is_full(v))
            return false;
    return true;
}

takt_status takt_hf_layers(const takt_hf *h)
{
    const takt_json *list = takt_hf_member(h->config, "layer_types");
    const int64_t period = period_of(h), blocks = takt_hf_integer(h, "block_count", 0);
    const bool has_window = period > 0 || takt_hf_integer(h, "attention.sliding_window", 0) > 0;
    int64_t i = 0;
    if (list == NULL)
        return TAKT_OK;
    if (list->kind != TAKT_JSON_ARRAY || list->count < (uint64_t)(blocks > 0 ? blocks : 0))
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, list, "layer_types is not a list of %lld layers",
                            (long long)blocks);
    for (const takt_json *v = takt_json_first(list); v != NULL && i < blocks;
         v = takt_json_next(v)) {
        const bool is_near = has_window && (period == 0 || (i + 1) % period != 0);
        const char *wanted = is_near ? "sliding_attention" : "full_attention";
        if (v->kind != TAKT_JSON_STRING || strcmp(v->text, wanted) != 0)
            return takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, v,
                                "layer_types has %.40s for layer %lld, where %s.takt has %s",
                                v->kind == TAKT_JSON_STRING ? v->text : "no name", (long long)i,
                                h->architecture, wanted);
        i++;
    }
    return TAKT_OK;
}
