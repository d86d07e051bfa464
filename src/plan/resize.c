/* resize.c - making a plan that can be resized in place. */
#include "base/mem.h"
#include "plan/finish.h"
#include "plan/resizer.h"

/* `sizes`: those that the plan was made for. */
static takt_status keep_rooms(takt_resizer *r, const int64_t *sizes, size_t count)
{
    takt_arena *arena = &r->b.scratch;
    const takt_plan *plan = r->plan;
    const size_t nodes = plan->graph->count,
                 cells = takt_sizes_cells(&r->plan->basis->template->sizes);
    r->root = takt_arena_copy(arena, r->b.root, nodes * sizeof *r->root);
    r->is_alias = takt_arena_copy(arena, r->b.is_alias, nodes);
    r->room = takt_arena_array(arena, plan->buffer_count, sizeof *r->room);
    r->scratch = takt_arena_array(arena, plan->step_count, sizeof *r->scratch);
    r->cells = takt_arena_array(arena, cells, sizeof *r->cells);
    r->sizes = takt_arena_copy(&r->plan->arena, sizes, count * sizeof *r->sizes);
    r->wanted = takt_arena_copy(arena, sizes, count * sizeof *r->wanted);
    r->reach = takt_reach_of(&r->b, r->plan->basis->template);
    r->after = takt_arena_array(arena, plan->step_count + 1, sizeof *r->after);
    r->sized_after = takt_arena_array(arena, r->sized.step_count + 1, sizeof *r->sized_after);
    r->twins = takt_twins_create(&r->b, &r->answers);
    if (!takt_visits_create(&r->visits, &r->b) || r->twins == NULL || r->root == NULL ||
        r->is_alias == NULL || r->room == NULL || r->scratch == NULL || r->cells == NULL ||
        r->sizes == NULL || r->wanted == NULL || r->reach == NULL || r->after == NULL ||
        r->sized_after == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < plan->buffer_count; i++)
        r->room[i] = plan->buffers[i].bytes;
    for (size_t i = 0; i < plan->step_count; i++)
        r->scratch[i] = takt_step_scratch(&plan->steps[i], plan->threads);
    r->plan->name_count = count;
    r->plan->sizes = r->sizes;
    r->settings.sizes = r->cells; /* plans of subgraphs get what is put in there */
    r->settings.size_count = count;
    return TAKT_OK;
}

/* Constants stay where they are, with room for the largest sizes. */
static takt_status keep_constants(takt_resizer *r)
{
    const takt_plan *plan = r->plan;
    r->bases = takt_arena_array(&r->b.scratch, plan->buffer_count, sizeof *r->bases);
    if (r->bases == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *buffer = &plan->buffers[i];
        if (buffer->place == TAKT_PLACE_CONSTANT && plan->constants[buffer->index].storage != NULL)
            r->bases[i] = takt_tensor_data(&plan->constants[buffer->index]);
    }
    for (size_t i = 0; i < r->sized.step_count; i++) {
        const takt_step *s = &r->sized.steps[i].step;
        const size_t bytes = s->scratch_bytes + s->scratch_each;
        if (bytes > r->constant_scratch_bytes)
            r->constant_scratch_bytes = bytes;
    }
    if (r->constant_scratch_bytes == 0)
        return TAKT_OK;
    return takt_mem_get(r->ctx, r->constant_scratch_bytes, "constant step", &r->constant_scratch);
}

/* The plan of the sizes that the settings have. */
static takt_status make(takt_resizer *r)
{
    takt_graph *g;
    const int64_t *sizes = r->settings.sizes;
    const size_t count = r->settings.size_count;
    r->settings.consumes = false;
    TAKT_TRY(takt_template_size(r->settings.basis->template, sizes, count, &g));
    r->b = (takt_builder){.p = {.ctx = r->ctx, .graph = g, .settings = &r->settings},
                          .answers = &r->answers,
                          .sized = &r->sized};
    takt_status status = takt_builder_build(&r->b, &r->plan);
    takt_graph_destroy(g);
    r->settings.basis = NULL;
    r->settings.rooms = NULL;
    if (status == TAKT_OK)
        status = keep_rooms(r, sizes, count);
    if (status == TAKT_OK)
        status = keep_constants(r);
    if (status != TAKT_OK || !takt_resizer_is_sizable(r))
        return status;
    const takt_kept_source source = takt_resizer_source(r);
    TAKT_TRY(takt_kept_create(&source, &r->kept));
    takt_kept_put(r->kept, &source, r->sizes);
    r->is_whole = true;
    return TAKT_OK;
}

static takt_status create(takt_ctx *ctx, const takt_plan_settings *settings, takt_resizer **out)
{
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_resizer), "sizes", &block));
    takt_resizer *r = block;
    r->ctx = ctx;
    r->settings = *settings;
    takt_arena_init(&r->b.scratch, ctx);
    const takt_status status = make(r);
    if (status == TAKT_OK)
        *out = r;
    else
        takt_resizer_destroy(r);
    return status;
}

takt_status takt_resizer_create(const takt_plan *top, takt_resizer **out)
{
    *out = NULL;
    if (top->basis == NULL || top->space_count > 1 || top->is_dry || top->name_count == 0)
        return TAKT_OK;
    takt_plan_settings settings = top->settings;
    settings.basis = top->basis;
    settings.rooms = top;
    settings.sizes = top->sizes;
    settings.size_count = top->name_count;
    takt_resizer *r;
    TAKT_TRY(create(top->ctx, &settings, &r));
    if (!takt_resizer_is_sizable(r) || r->plan->arena_bytes > top->arena_bytes) {
        takt_resizer_destroy(r);
        return TAKT_OK;
    }
    r->plan->widest = top;
    *out = r;
    return TAKT_OK;
}

takt_status takt_resizer_of_child(takt_ctx *ctx, const takt_plan_settings *settings,
                                  takt_resizer **out, takt_plan **plan)
{
    takt_plan_settings s = *settings;
    void *block;
    const size_t count = s.basis->template->sizes.name_count;
    *out = NULL;
    TAKT_TRY(takt_mem_get(ctx, (count + 1) * sizeof *s.sizes, "sizes", &block));
    int64_t *sizes = block;
    for (size_t i = 0; i < count; i++)
        sizes[i] = i < s.size_count ? s.sizes[i] : 1;
    s.sizes = sizes;
    s.size_count = count;
    const takt_status status = create(ctx, &s, out);
    takt_mem_put(ctx, block, (count + 1) * sizeof *s.sizes);
    TAKT_TRY(status);
    *plan = (*out)->plan;
    takt_plan_retain_internal(*plan);
    return TAKT_OK;
}

static void destroy_children(const takt_answers *a)
{
    for (size_t i = 0; i < a->count; i++)
        takt_resizer_destroy(a->list[i].resizer); /* depth is limited */
}

void takt_resizer_destroy(takt_resizer *r)
{
    if (r == NULL)
        return;
    destroy_children(&r->answers);
    destroy_children(&r->sized);
    takt_arena_deinit(&r->b.scratch);
    takt_kept_destroy(r->kept);
    if (r->constant_scratch != NULL)
        takt_mem_put(r->ctx, r->constant_scratch, r->constant_scratch_bytes);
    takt_mem_put(r->ctx, r->sized.steps, r->sized.step_capacity * sizeof *r->sized.steps);
    takt_mem_put(r->ctx, r->sized.list, r->sized.capacity * sizeof *r->sized.list);
    takt_mem_put(r->ctx, r->answers.list, r->answers.capacity * sizeof *r->answers.list);
    takt_plan_release_internal(r->plan);
    takt_mem_put(r->ctx, r, sizeof *r);
}

takt_plan *takt_resizer_plan(const takt_resizer *r)
{
    return r->plan;
}
