/* training.c - the memory of a training step: what state and arena hold. */
#include <string.h>

#include "measure/report/report.h"
#include "plan/rematerialise.h"
#include "train/phase.h"
#include "train/step.h"

typedef struct parts {
    uint64_t weights, optimizer, averages, sums; /* of state */
    uint64_t activations, gradients;             /* peak of each in the arena */
} parts;

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* A slot may have several buffers, which are the same memory. */
static bool add_state(const takt_plan *plan, takt_arena *arena, parts *p)
{
    bool *seen = takt_arena_array(arena, plan->graph->slot_count, sizeof *seen);
    if (seen == NULL)
        return false;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place != TAKT_PLACE_STATE || seen[b->index])
            continue;
        seen[b->index] = true;
        const char *name = plan->graph->slots[b->index].name;
        *(begins(name, TAKT_STEP_SLOT)   ? &p->optimizer
          : begins(name, TAKT_STEP_EMA)  ? &p->averages
          : begins(name, TAKT_STEP_GRAD) ? &p->sums
                                         : &p->weights) += b->bytes;
    }
    return true;
}

/* Bytes that live during each step, `forward` and then gradients, as differences. */
typedef struct lives {
    int64_t *live;
    size_t steps;
} lives;

/* What a buffer holds: a gradient may be written over the activation that it was computed from. */
typedef struct holding {
    int from;
    takt_phase phase;
} holding;

static void add_life(lives *l, const takt_buffer *b, const holding *h, int end)
{
    int64_t *of = l->live + (h->phase == TAKT_PHASE_FORWARD ? 0 : l->steps);
    if (end <= h->from)
        return;
    of[h->from] += (int64_t)b->bytes;
    of[end] -= (int64_t)b->bytes;
}

static bool is_value(const takt_buffer *b)
{
    return b->place == TAKT_PLACE_ARENA && b->value != TAKT_NONE && b->last >= 0;
}

/* The step that computes the loss, or a value that the loss is a view of. */
static size_t loss_step(const takt_plan *plan)
{
    const takt_graph *g = plan->graph;
    takt_id loss = TAKT_NONE;
    for (size_t i = 0; i < g->output_count; i++)
        loss = strcmp(g->outputs[i].name, TAKT_STEP_SUM) == 0 ? g->outputs[i].id : loss;
    for (; loss != TAKT_NONE; loss = g->nodes[loss].in_count > 0 ? g->nodes[loss].in[0] : TAKT_NONE)
        for (size_t s = 0; s < plan->step_count; s++)
            for (size_t k = 0; k < plan->steps[s].node_count; k++)
                if (plan->steps[s].nodes[k] == loss)
                    return s;
    return 0;
}

/* What is made before the loss is an activation, even if only the backward pass reads it. */
static void add_lives(const takt_plan *plan, const unsigned char *phase, holding *held, lives *l)
{
    const size_t loss = loss_step(plan);
    for (size_t s = 0; s < plan->step_count; s++) {
        const takt_step *step = &plan->steps[s];
        const takt_phase made =
            s < loss ? TAKT_PHASE_FORWARD : takt_phase_of(phase, step->nodes, step->node_count);
        for (size_t k = 0; k < step->out_count; k++) {
            const uint32_t buffer = step->out[k].buffer;
            holding *h = &held[buffer];
            if (!is_value(&plan->buffers[buffer]))
                continue;
            if (h->from >= 0)
                add_life(l, &plan->buffers[buffer], h, (int)s);
            *h = (holding){.from = (int)s, .phase = made};
        }
    }
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (held[i].from >= 0)
            add_life(l, &plan->buffers[i], &held[i], plan->buffers[i].last + 1);
}

static bool add_arena(const takt_plan *plan, takt_arena *arena, parts *p)
{
    const size_t steps = plan->step_count + 1;
    unsigned char *phase = takt_arena_array(arena, plan->graph->count, 1);
    holding *held = takt_arena_array(arena, plan->buffer_count, sizeof *held);
    lives l = {takt_arena_array(arena, 2 * steps, sizeof *l.live), steps};
    if (phase == NULL || held == NULL || l.live == NULL)
        return false;
    takt_phases(plan->graph, phase);
    for (size_t i = 0; i < plan->buffer_count; i++)
        held[i].from = -1;
    add_lives(plan, phase, held, &l);
    int64_t forward = 0, gradient = 0;
    for (size_t i = 0; i + 1 < steps; i++) {
        forward += l.live[i];
        gradient += l.live[steps + i];
        p->activations = (uint64_t)forward > p->activations ? (uint64_t)forward : p->activations;
        p->gradients = (uint64_t)gradient > p->gradients ? (uint64_t)gradient : p->gradients;
    }
    return true;
}

static void write_row(takt_report *r, takt_table *t, const char *key, const char *what,
                      uint64_t bytes, const char *note)
{
    char figure[TAKT_FIGURE_TEXT];
    if (r->is_json) {
        takt_report_count(r, key, bytes);
        return;
    }
    takt_table_cell(t, "%s", what);
    takt_table_cell(t, "%s", takt_figure(bytes, figure));
    takt_table_cell(t, "%s", note);
}

static void write(takt_report *r, const parts *p)
{
    takt_table t;
    takt_table_init(&t, r->ctx, "lrl");
    if (r->is_json)
        takt_json_put_open(&r->json, "training", '{');
    write_row(r, &t, "weights", "weights", p->weights, "state: parameters and statistics");
    write_row(r, &t, "optimizer", "optimizer", p->optimizer, "state: its slots");
    write_row(r, &t, "averages", "averages", p->averages, "state: moving averages of weights");
    write_row(r, &t, "gradient_sums", "gradient sums", p->sums, "state: over shards");
    write_row(r, &t, "activations", "activations", p->activations, "arena: most of them at once");
    write_row(r, &t, "gradients", "gradients", p->gradients, "arena: most of them at once");
    if (!r->is_json) {
        takt_text_add(&r->text, "training step, bytes\n");
        takt_table_print(&t, &r->text);
    }
    takt_table_deinit(&t);
}

/* The cost of other memory limits, which rematerialise activations. */
static takt_status write_points(takt_report *r, const takt_plan *plan)
{
    enum { MOST = 10 };
    takt_remat_point points[MOST];
    char figure[TAKT_FIGURE_TEXT];
    size_t count;
    takt_table t;
    TAKT_TRY(takt_plan_points(plan, MOST, points, &count));
    takt_table_init(&t, r->ctx, "rrr");
    if (r->is_json)
        takt_json_put_open(&r->json, "points", '[');
    for (size_t i = 0; i < count; i++) {
        if (r->is_json) {
            takt_json_open(&r->json, '{');
            takt_report_count(r, "arena", points[i].arena);
            takt_json_put_number(&r->json, "time", points[i].time);
            takt_report_count(r, "repeated_steps", points[i].steps);
            takt_json_close(&r->json, '}');
            continue;
        }
        takt_table_cell(&t, "%s", takt_figure(points[i].arena, figure));
        takt_table_cell(&t, "%.3f", points[i].time);
        takt_table_cell(&t, "%zu", points[i].steps);
    }
    if (r->is_json) {
        takt_json_close(&r->json, ']');
    } else if (count > 0) {
        takt_text_add(&r->text, "with --memory-limit: arena, estimated time of a step over the "
                                "fastest, steps that run twice\n");
        takt_table_print(&t, &r->text);
    }
    takt_table_deinit(&t);
    return TAKT_OK;
}

void takt_report_training(takt_report *r, const takt_plan *plan)
{
    takt_arena arena;
    parts p = {0};
    if (!takt_is_training_step(plan->graph))
        return;
    takt_arena_init(&arena, r->ctx);
    if (!add_state(plan, &arena, &p) || !add_arena(plan, &arena, &p))
        r->text.status = TAKT_ERR_MEMORY;
    takt_arena_deinit(&arena);
    write(r, &p);
    const takt_status status = write_points(r, plan);
    r->text.status = status != TAKT_OK ? status : r->text.status;
    if (r->is_json)
        takt_json_close(&r->json, '}');
}
