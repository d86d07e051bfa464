/* lang_layers.c - every built-in layer computes what its formula says.
 *
 * tests/unit/lang_layers.txt has the cases: a line "=== title", a model of layers, a line "---",
 * and a model that computes the same by hand. Both get the same inputs, and the same values in
 * slots of the same name (state begins at 0 where a title says "fresh"); the interpreter's results
 * must agree.
 */
#include "lang/parse.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "interp/interp.h"
#include "test.h"
#include "util/golden.h"

#define CASES "tests/unit/lang_layers.txt"
enum { MOST = 64 };

static takt_ctx *ctx;

/* Values between 0.1 and 1 for slots (variances are positive), -1 and 1 for inputs. */
static void fill(const char *name, const takt_type *type, bool is_slot, takt_tensor *out)
{
    if (!EXPECT_OK(ctx, takt_tensor_create(ctx, type, out)))
        return;
    const uint64_t base = takt_hash_bytes(3, name, strlen(name));
    for (size_t i = 0; i < takt_tensor_count(out); i++) {
        const double u = (double)(takt_hash_word(base, i) >> 11) * 0x1p-53;
        if (!takt_dtype_is_float(type->dtype))
            takt_dtype_put_i(type->dtype, takt_tensor_data(out), i, 0);
        else
            takt_dtype_put_f(type->dtype, takt_tensor_data(out), i,
                             is_slot ? 0.1 + 0.9 * u : 2 * u - 1);
    }
}

typedef struct ran {
    takt_graph *graph;
    takt_tensor in[MOST], slots[MOST], out[MOST], next[MOST];
    bool is_done;
} ran;

static void run(ran *r, const char *text, size_t length, bool is_fresh)
{
    memset(r, 0, sizeof *r);
    if (!EXPECT_OK(ctx, takt_parse(ctx, "m.takt", text, length, NULL, &r->graph)))
        return;
    const takt_graph *g = r->graph;
    if (!EXPECT(g->input_count < MOST && g->slot_count < MOST && g->output_count < MOST))
        return;
    for (size_t i = 0; i < g->input_count; i++)
        fill(g->inputs[i].name, takt_type_of(g, g->inputs[i].id), false, &r->in[i]);
    for (size_t i = 0; i < g->slot_count; i++) {
        fill(g->slots[i].name, &g->slots[i].type, true, &r->slots[i]);
        if (is_fresh && !g->slots[i].is_trainable)
            memset(takt_tensor_data(&r->slots[i]), 0, takt_tensor_bytes(&r->slots[i]));
    }
    r->is_done = EXPECT_OK(ctx, takt_interpret(ctx, g, r->in, r->slots, r->out, r->next));
}

static void drop(ran *r)
{
    for (size_t i = 0; i < MOST; i++) {
        takt_tensor_release(&r->in[i]);
        takt_tensor_release(&r->slots[i]);
        takt_tensor_release(&r->out[i]);
        takt_tensor_release(&r->next[i]);
    }
    takt_graph_destroy(r->graph);
}

static void compare(const char *title, int length, const ran *a, const ran *b)
{
    if (!EXPECT(a->graph->output_count == b->graph->output_count, "%.*s", length, title) ||
        !EXPECT(a->graph->slot_count == b->graph->slot_count, "%.*s: %zu slots, not %zu", length,
                title, a->graph->slot_count, b->graph->slot_count))
        return;
    for (size_t i = 0; i < a->graph->slot_count; i++)
        EXPECT(takt_graph_find_slot(b->graph, a->graph->slots[i].name) != NULL, "%.*s: %s", length,
               title, a->graph->slots[i].name);
    for (size_t i = 0; i < a->graph->output_count; i++) {
        const takt_tensor *x = &a->out[i], *y = &b->out[i];
        char left[TAKT_TYPE_TEXT], right[TAKT_TYPE_TEXT];
        if (!EXPECT(takt_type_same(a->graph->dims, &x->type, &y->type), "%.*s: %s, not %s", length,
                    title, takt_type_text(a->graph->dims, &x->type, left),
                    takt_type_text(b->graph->dims, &y->type, right)))
            continue;
        for (size_t k = 0; k < takt_tensor_count(x); k++) {
            const double p = takt_dtype_get_f(x->type.dtype, takt_tensor_data(x), k);
            const double q = takt_dtype_get_f(y->type.dtype, takt_tensor_data(y), k);
            if (!EXPECT(fabs(p - q) <= 1e-11 * (1 + fabs(q)),
                        "%.*s: output %zu[%zu] is %.17g, not %.17g", length, title, i, k, p, q))
                break;
        }
    }
}

static void cases(void)
{
    size_t length;
    char *text = golden_file(CASES, &length);
    size_t count = 0;
    for (const char *at = text; at != NULL && *at != '\0'; count++) {
        const char *first = strchr(at, '\n') + 1, *middle = strstr(first, "---\n");
        const char *end = strstr(first, "\n=== ");
        end = end != NULL ? end + 1 : first + strlen(first);
        if (!EXPECT(middle != NULL && middle < end, "%.40s", at))
            break;
        const char *fresh = strstr(at, "fresh");
        const int title = (int)(first - at - 1);
        ran a, b;
        run(&a, first, (size_t)(middle - first), fresh != NULL && fresh < first);
        run(&b, middle + 4, (size_t)(end - middle - 4), fresh != NULL && fresh < first);
        if (EXPECT(a.is_done && b.is_done, "%.*s", title, at))
            compare(at, title, &a, &b);
        drop(&a);
        drop(&b);
        at = end;
    }
    EXPECT(count >= 20, "%zu cases", count);
    for (size_t i = 0; text != NULL && takt_layer_name(i) != NULL; i++) {
        char call[80];
        snprintf(call, sizeof call, " %s(", takt_layer_name(i));
        EXPECT(strstr(text, call) != NULL, "no case calls %s", takt_layer_name(i));
    }
    free(text);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    cases();
    EXPECT(ctx->live_bytes == 0, "%zu bytes are left", (size_t)ctx->live_bytes);
    takt_ctx_destroy(ctx);
    return test_done();
}
