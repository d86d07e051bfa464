/* given.c - the parameters of passes: arguments by name, and ranges of values. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "ir/leaves.h"
#include "pass/pass.h"

takt_pass_given takt_pass_defaults(const takt_pass *pass)
{
    takt_pass_given given = {.ranges = NULL};
    for (size_t i = 0; i < TAKT_PASS_ARGS && pass->args[i].name != NULL; i++)
        given.arg[i] = pass->args[i].fallback;
    return given;
}

/* ---- arguments ---- */

static bool read_value(const takt_pass_arg *a, takt_span text, double *value)
{
    if (a->words == NULL)
        return takt_number_read(text.at, text.length, value) && *value >= a->least &&
               *value <= a->most;
    for (size_t i = 0; a->words[i] != NULL; i++)
        if (takt_span_is(text, a->words[i])) {
            *value = (double)i;
            return true;
        }
    return false;
}

static takt_status fail_word(takt_ctx *ctx, const takt_pass *pass, takt_span word)
{
    takt_fail(ctx, TAKT_E_OPTION, "%s:%.*s is not understood", pass->name, (int)word.length,
              word.at);
    if (pass->args[0].name == NULL)
        return takt_fail_hint(ctx, "%s has no settings", pass->name);
    return takt_fail_hint(ctx, "%s:%s=... sets %s", pass->name, pass->args[0].name,
                          pass->args[0].summary);
}

static takt_status read_word(takt_ctx *ctx, const takt_pass *pass, takt_span word,
                             takt_pass_given *given)
{
    const char *sign = word.length > 0 ? memchr(word.at, '=', word.length) : NULL;
    if (sign == NULL)
        return fail_word(ctx, pass, word);
    const takt_span name = {word.at, (size_t)(sign - word.at)};
    const takt_span value = {sign + 1, word.length - name.length - 1};
    for (size_t i = 0; i < TAKT_PASS_ARGS && pass->args[i].name != NULL; i++)
        if (takt_span_is(name, pass->args[i].name))
            return read_value(&pass->args[i], value, &given->arg[i]) ? TAKT_OK
                                                                     : fail_word(ctx, pass, word);
    return fail_word(ctx, pass, word);
}

takt_status takt_pass_read(takt_ctx *ctx, const takt_pass *pass, const char *text, size_t length,
                           takt_pass_given *given)
{
    while (length > 0) {
        const char *colon = memchr(text, ':', length);
        const takt_span word = {text, colon != NULL ? (size_t)(colon - text) : length};
        TAKT_TRY(read_word(ctx, pass, word, given));
        const size_t done = word.length + (colon != NULL);
        text += done;
        length -= done;
    }
    return TAKT_OK;
}

/* ---- ranges ---- */

static const takt_value_range unknown = {1, 0};

static takt_value_range range_of(const takt_tensor *t)
{
    takt_value_range r = unknown;
    if (t->type.dtype != TAKT_F32 || t->storage == NULL)
        return r;
    const float *x = takt_tensor_data(t);
    const size_t count = takt_tensor_count(t);
    for (size_t i = 0; i < count; i++) {
        const double v = (double)x[i];
        if (!isfinite(v))
            continue;
        const bool is_first = r.low > r.high;
        r.low = is_first || v < r.low ? v : r.low;
        r.high = is_first || v > r.high ? v : r.high;
    }
    return r;
}

takt_value_range *takt_pass_constant_ranges(takt_arena *arena, const takt_graph *g)
{
    takt_value_range *ranges = takt_arena_array(arena, g->count, sizeof *ranges);
    for (size_t i = 0; ranges != NULL && i < g->count; i++)
        ranges[i] =
            g->nodes[i].op == &takt_op_constant ? range_of(g->nodes[i].attr[0].tensor) : unknown;
    return ranges;
}

takt_value_range takt_rewrite_range(const takt_rewrite *r, uint32_t k)
{
    const takt_id in = r->in->nodes[r->id].in[k];
    return r->given->ranges != NULL && in != TAKT_NONE ? r->given->ranges[in] : unknown;
}
