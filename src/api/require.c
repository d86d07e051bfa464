/* require.c - a requirement is met or the plan is refused: there is no silent fallback.
 *
 * A backend: every step that it can run does run on it, also in bodies of If, Loop and Scan (for
 * blas: the matrix products, of which there must be one); the message names those that do not. An
 * element type: every product, convolution and attention computes in it; in a model without any,
 * every step.
 */
#include "api/require.h"

#include <stdio.h>
#include <string.h>

#include <takt/plan.h>

#include "api/backends.h"
#include "op/ops.h"

enum { LONGEST = 32 };

typedef enum kind { UNKNOWN, BACKEND, DTYPE } kind;

/* The next word of the list, terminated; false at its end. */
static bool next_word(const char **words, char word[LONGEST])
{
    while (*words != NULL && **words == ',')
        (*words)++;
    if (*words == NULL || **words == '\0')
        return false;
    const size_t length = strcspn(*words, ",");
    const size_t kept = length < LONGEST ? length : LONGEST - 1;
    memcpy(word, *words, kept);
    word[kept] = '\0';
    *words += length;
    if (strcmp(word, "gpu") == 0) /* the only backend for one */
        snprintf(word, LONGEST, "cuda");
    return true;
}

static const char *type_name(const char *word)
{
    return strcmp(word, "int8") == 0   ? "i8"
           : strcmp(word, "fp32") == 0 ? "f32"
           : strcmp(word, "fp16") == 0 ? "f16"
                                       : word;
}

static kind kind_of(const char *word)
{
    if (takt_backend_named(word) != NULL)
        return BACKEND;
    return takt_dtype_find(type_name(word)) != TAKT_DTYPE_COUNT ? DTYPE : UNKNOWN;
}

takt_status takt_require_words(takt_ctx *ctx, const char *words, const char *library)
{
    char word[LONGEST];
    while (next_word(&words, word)) {
        const kind k = kind_of(word);
        const char *why = k == BACKEND ? takt_backend_missing(word, library) : NULL;
        if (k == UNKNOWN) {
            takt_fail(ctx, TAKT_E_NAME, "%s is neither a backend nor an element type", word);
            return takt_fail_hint(
                ctx, "require cpu, cuda, blas, ref, f32, f16, bf16, int8 and the like");
        }
        if (why != NULL) {
            takt_fail(ctx, TAKT_E_REQUIRE, "%s is required: %s", word, why);
            return takt_fail_hint(ctx, "`takt backends` lists what there is");
        }
    }
    return TAKT_OK;
}

/* ---- backends ---- */

static bool is_business(const takt_plan *plan, const takt_step *s, const takt_backend *b)
{
    for (size_t i = 0; i < s->node_count; i++)
        if (b->claims == NULL || b->claims(plan->graph, s->nodes[i]))
            return true;
    return false;
}

/* Steps that the backend should run, and those among them that it does not. */
typedef struct census {
    size_t count, elsewhere, named;
    char text[TAKT_ERROR_TEXT - 96]; /* "step 2 (y) runs on cpu: no device code; ..." */
} census;

static void name_step(census *c, const takt_step *s, size_t number, const char *where)
{
    const size_t length = strlen(c->text), room = sizeof c->text - length;
    const int more = snprintf(c->text + length, room, "%s%sstep %zu (%s) runs on %s%s%s",
                              c->named > 0 ? "; " : "", where, number, s->name, s->backend->name,
                              s->note != NULL ? ": " : "", s->note != NULL ? s->note : "");
    if (more < 0 || (size_t)more >= room)
        c->text[length] = '\0'; /* steps are reported as a whole */
    else
        c->named++;
}

/* Counts the steps of a plan, and of the bodies of its If, Loop and Scan. */
static void count_steps(census *c, const takt_plan *plan, const takt_backend *b, const char *where)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        if (!is_business(plan, s, b))
            continue;
        c->count++;
        if (s->backend == b)
            continue;
        c->elsewhere++;
        name_step(c, s, i, where);
    }
    for (const takt_plan *child = plan->child; child != NULL; child = child->sibling)
        count_steps(c, child, b, "in a body ");
}

static takt_status require_backend(const takt_plan *plan, const char *word)
{
    const takt_backend *b = takt_backend_named(word);
    census c = {0};
    count_steps(&c, plan, b, "");
    if (c.elsewhere > 0) {
        char rest[40] = "";
        if (c.named < c.elsewhere)
            snprintf(rest, sizeof rest, "; and %zu more", c.elsewhere - c.named);
        takt_fail(plan->ctx, TAKT_E_REQUIRE, "%s is required, but %s%s", word, c.text, rest);
        return plan->backend == b ? takt_fail_hint(plan->ctx, "`takt kernels` tells of every step")
                                  : takt_fail_hint(plan->ctx, "add --backend %s", word);
    }
    if (c.count > 0 || b->claims == NULL)
        return TAKT_OK;
    return takt_fail(plan->ctx, TAKT_E_REQUIRE,
                     "%s is required, but no step of this model can run on it", word);
}

/* ---- element types ---- */

static bool is_product(const takt_op *op)
{
    return op == &takt_op_matmul || op == &takt_op_conv || op == &takt_op_conv_dx ||
           op == &takt_op_conv_dw || op == &takt_op_attention;
}

static bool has_products(const takt_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        for (size_t k = 0; k < plan->steps[i].node_count; k++)
            if (is_product(plan->graph->nodes[plan->steps[i].nodes[k]].op))
                return true;
    return false;
}

static takt_status require_type(const takt_plan *plan, const char *word)
{
    const takt_dtype want = takt_dtype_find(type_name(word));
    const bool only_products = has_products(plan);
    for (size_t i = 0; i < plan->step_count; i++)
        for (size_t k = 0; k < plan->steps[i].node_count; k++) {
            const takt_node *n = &plan->graph->nodes[plan->steps[i].nodes[k]];
            if (only_products && !is_product(n->op))
                continue;
            const takt_type *type = only_products ? takt_type_of(plan->graph, n->in[0]) : n->type;
            if (type->dtype != want)
                return takt_fail(plan->ctx, TAKT_E_REQUIRE,
                                 "%s is required, but step %zu (%s) computes in %s", word, i,
                                 plan->steps[i].name, takt_dtype_name(type->dtype));
        }
    return TAKT_OK;
}

takt_status takt_require_plan(const takt_plan *plan, const char *words)
{
    char word[LONGEST];
    while (next_word(&words, word))
        TAKT_TRY(kind_of(word) == BACKEND ? require_backend(plan, word) : require_type(plan, word));
    return TAKT_OK;
}
