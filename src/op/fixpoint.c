/* fixpoint.c - rules over sets of tuples, to their least fixed point
 * (op/util/datalog.h). */
#include "op/util/check.h"
#include "op/util/datalog.h"
#include "op/util/stops.h"

enum { PROGRAM, CAPACITY };

static takt_status infer(takt_infer *in)
{
    takt_arena arena;
    takt_dl program;
    takt_arena_init(&arena, in->ctx);
    takt_status status = takt_dl_read(&arena, in->attr[PROGRAM].string, &program);
    takt_arena_deinit(&arena); /* arities are in the program itself */
    TAKT_TRY(status);
    if (in->in_count != (size_t)(program.relations - program.derived))
        return takt_fail(in->ctx, TAKT_E_ARITY, "fixpoint: the program has %d inputs, not %zu",
                         program.relations - program.derived, in->in_count);
    for (size_t i = 0; i < in->in_count; i++) {
        TAKT_TRY(takt_infer_rank(in, i, 2, 2));
        const int arity = program.arity[program.derived + (int)i];
        if (in->type[i]->dim[1] != arity)
            return takt_infer_fail(in, TAKT_E_SHAPE, "input %zu must have %d columns", i, arity);
    }
    if (in->attr[CAPACITY].count != (uint32_t)program.derived)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "fixpoint: the program derives %d relations, and "
                         "capacity has %u",
                         program.derived, in->attr[CAPACITY].count);
    TAKT_TRY(takt_check_range(in, CAPACITY, 0, TAKT_CHECK_BIG / 4));
    if (program.derived > TAKT_MAX_OUTPUTS)
        return takt_fail(in->ctx, TAKT_E_ATTR, "fixpoint: at most %d relations are derived at once",
                         TAKT_MAX_OUTPUTS);
    in->out_count = (size_t)program.derived;
    for (int i = 0; i < program.derived; i++)
        in->out[i] = (takt_type){
            .dtype = TAKT_U32, .rank = 2, .dim = {in->attr[CAPACITY].i64s[i], program.arity[i]}};
    return TAKT_OK;
}

/* ---- evaluation: the same machine, on the interpreter's wide integers ---- */

static takt_status narrow(takt_eval *e, const takt_array *a, uint32_t **to)
{
    *to = takt_arena_array(e->scratch, a->count + 1, sizeof **to);
    if (*to == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; a->i != NULL && i < a->count; i++)
        (*to)[i] = (uint32_t)a->i[i];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    takt_dl program;
    takt_dl_plan plan;
    size_t capacity[TAKT_DL_RELATIONS];
    uint32_t *in[TAKT_DL_RELATIONS], *out[TAKT_DL_RELATIONS];
    TAKT_TRY(takt_dl_read(e->scratch, e->attr[PROGRAM].string, &program));
    for (int i = 0; i < program.relations; i++) {
        const bool is_derived = i < program.derived;
        const takt_array *a = is_derived ? &e->out[i] : &e->in[i - program.derived];
        capacity[i] = (size_t)a->dim[0];
        TAKT_TRY(narrow(e, a, is_derived ? &out[i] : &in[i - program.derived]));
    }
    TAKT_TRY(takt_dl_prepare(e->scratch, &program, capacity, 1, &plan));
    void *room = takt_arena_array(e->scratch, plan.scratch_bytes + 64, 1);
    if (room == NULL)
        return TAKT_ERR_MEMORY;
    char text[TAKT_DL_TEXT];
    const takt_dl_full full =
        takt_dl_run(&plan, (const uint32_t *const *)in, out, room, takt_eval_poll(e), NULL);
    if (full.relation >= 0)
        return takt_fail(e->ctx, takt_dl_full_id(&full), "%s",
                         takt_dl_full_text(e->node, &plan, &full, text));
    for (int i = 0; i < program.derived; i++)
        for (size_t k = 0; k < e->out[i].count; k++)
            e->out[i].i[k] = out[i][k];
    return TAKT_OK;
}

const takt_op takt_op_fixpoint = {
    .name = "fixpoint",
    .summary = "relations derived by rules from sets of tuples, to the least "
               "fixed point",
    .in_min = 0,
    .in_max = TAKT_VARIADIC,
    .attrs = {[PROGRAM] = {.name = "program",
                           .type = TAKT_ATTR_STRING,
                           .is_required = true,
                           .summary = "arities of derived relations : of inputs ; rules, such as "
                                      "\"2 : 2 ; 0(a, b) <- 1(a, b)\""},
              [CAPACITY] = {.name = "capacity",
                            .type = TAKT_ATTR_I64S,
                            .is_required = true,
                            .summary = "rows of each derived relation; those that hold no tuple "
                                       "are all ones"},
              [TAKT_DL_NAMES] = {.name = "names",
                                 .type = TAKT_ATTR_STRINGS,
                                 .summary = "of the derived relations, for messages"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_IN(TAKT_U32),
    .infer = infer,
    .eval = eval,
    .no_gradient = "tuples are there or not",
    .no_bound = "its body is not followed",
    .samples = {"fixpoint(u32[6, 2] in (0, 9), program=\"2 : 2 ; 0(a, b) <- "
                "1(a, b) ; 0(a, c) <- "
                "1(a, b), 0(b, c)\", capacity=[100])",
                "fixpoint(u32[5, 1] in (0, 4), u32[7, 3] in (0, 4), "
                "program=\"1 2 : 1 3 ; 0(a) <- "
                "2(a), !3(a, _, 1) ; 1(b, a) <- 3(a, b, c), a < c, b != 2\", "
                "capacity=[10, 25])"},
};
