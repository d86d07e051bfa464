/* memory.c - buffers of values, created on first use. */
#include "base/mem.h"
#include "ir/leaves.h"
#include "ir/storage.h"
#include "plan/builder.h"

takt_status takt_builder_new_buffer(takt_builder *b, takt_buffer buffer, uint32_t *index)
{
    takt_plan *plan = b->p.plan;
    void *array = plan->buffers;
    const takt_status status =
        takt_mem_grow(b->p.ctx, &array, &b->buffer_capacity, plan->buffer_count + 1, sizeof buffer);
    plan->buffers = array;
    TAKT_TRY(status);
    *index = (uint32_t)plan->buffer_count;
    plan->buffers[plan->buffer_count++] = buffer;
    return TAKT_OK;
}

takt_status takt_builder_new_constant(takt_builder *b, const takt_tensor *tensor, uint32_t *buffer)
{
    takt_plan *plan = b->p.plan;
    void *array = plan->constants;
    const takt_status status = takt_mem_grow(b->p.ctx, &array, &b->constant_capacity,
                                             plan->constant_count + 1, sizeof *tensor);
    plan->constants = array;
    TAKT_TRY(status);
    const takt_buffer made = {.place = TAKT_PLACE_CONSTANT,
                              .index = (uint32_t)plan->constant_count,
                              .bytes = takt_tensor_bytes(tensor),
                              .first = -1,
                              .last = -1,
                              .value = TAKT_NONE};
    TAKT_TRY(takt_builder_new_buffer(b, made, buffer));
    plan->constants[plan->constant_count] = *tensor;
    if (tensor->storage != NULL) /* NULL: sizes only, and the model is gone */
        takt_storage_retain(tensor->storage);
    plan->constant_count++;
    return TAKT_OK;
}

int takt_builder_direct_output(const takt_builder *b, takt_id root, size_t bytes)
{
    return b->space_of[root] == TAKT_HOST ? takt_builder_output_of(b, root, bytes) : -1;
}

int takt_builder_output_of(const takt_builder *b, takt_id root, size_t bytes)
{
    const takt_graph *g = b->p.graph;
    const uint32_t i = b->output_of[root];
    size_t own;
    if (i == UINT32_MAX || b->root_offset[g->outputs[i].id] != 0 ||
        !takt_type_bytes(takt_type_of(g, g->outputs[i].id), &own) || own != bytes)
        return -1;
    return (int)i;
}

/* Weights that are transposed and folded live until they are packed. New memory for each would be
 * cleared by the system first, which takes longer than computing it. */
void takt_builder_set_aside(takt_builder *b, takt_tensor *tensor)
{
    const size_t rooms[2] = {takt_storage_room(b->spare[0]), takt_storage_room(b->spare[1])};
    takt_storage **least = &b->spare[rooms[1] < rooms[0]];
    if (takt_storage_room(tensor->storage) > takt_storage_room(*least)) {
        takt_storage *held = *least;
        *least = tensor->storage;
        tensor->storage = held;
    }
    takt_tensor_release(tensor);
}

/* The smaller one that is large enough. */
static bool use_spare(takt_builder *b, const takt_type *type, takt_tensor *tensor)
{
    enum { LEAST = 1 << 18 }; /* smaller blocks come from recycled memory anyway */
    takt_storage **best = NULL;
    size_t bytes;
    if (!takt_type_bytes(type, &bytes) || bytes < LEAST || takt_dtype_bits(type->dtype) < 8)
        return false;
    for (size_t i = 0; i < 2; i++)
        if (takt_storage_room(b->spare[i]) >= bytes &&
            (best == NULL || takt_storage_room(b->spare[i]) < takt_storage_room(*best)))
            best = &b->spare[i];
    if (best == NULL)
        return false;
    tensor->storage = *best;
    *best = NULL;
    takt_storage_reuse(tensor->storage, bytes);
    return true;
}

takt_status takt_builder_new_computed(takt_builder *b, const takt_type *type, uint32_t *buffer)
{
    takt_tensor tensor = {.type = *type};
    size_t bytes;
    if (!b->p.settings->is_dry && !use_spare(b, type, &tensor))
        TAKT_TRY(takt_tensor_create(b->p.ctx, type, &tensor));
    else if (b->p.settings->is_dry && takt_type_bytes(type, &bytes))
        TAKT_TRY(takt_storage_borrow(b->p.ctx, NULL, bytes, NULL, NULL, &tensor.storage));
    const takt_status status = takt_builder_new_constant(b, &tensor, buffer);
    takt_tensor_release(&tensor);
    return status;
}

static takt_status make_buffer(takt_builder *b, takt_id root, uint32_t *buffer)
{
    const takt_graph *g = b->p.graph;
    const takt_node *n = &g->nodes[root];
    takt_buffer made = {.place = TAKT_PLACE_ARENA,
                        .space = b->space_of[root],
                        .first = b->step_index,
                        .last = b->step_index,
                        .value = root};
    if (!takt_type_bytes(n->type, &made.bytes))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "a %s result is too large", n->op->name);
    if (n->op == &takt_op_constant)
        return takt_builder_new_constant(b, n->attr[0].tensor, buffer);
    if (b->in_prologue)
        return takt_builder_new_computed(b, n->type, buffer);
    if (n->op == &takt_op_input) {
        made.place = TAKT_PLACE_INPUT;
        made.index = b->port_of[root];
        made.first = -1;
    } else if (n->op == &takt_op_state) {
        made.place = TAKT_PLACE_STATE;
        made.index = b->port_of[root];
        made.first = -1;
    } else {
        const int output = takt_builder_direct_output(b, root, made.bytes);
        if (output >= 0) {
            made.place = TAKT_PLACE_OUTPUT;
            made.index = (uint32_t)output;
        } else if (takt_state_swaps(b, root, &made.index)) {
            made.place = TAKT_PLACE_NEXT;
            b->p.plan->slots[made.index].is_swapped = true;
        }
    }
    return takt_builder_new_buffer(b, made, buffer);
}

/* The value as seen from the space of the step. Steps that copy it there, unless it is constant,
 * have been made already. */
static takt_status copy_of(takt_builder *b, takt_id root, uint32_t *buffer)
{
    uint32_t *known = &b->copy_in[b->space][root];
    const takt_pack_name name = {
        .node = root, .format = "", .bytes = b->p.plan->buffers[*buffer].bytes, .space = b->space};
    if (*known == UINT32_MAX && b->is_constant[root])
        TAKT_TRY(b->is_late[root] ? takt_builder_postpone(b, &name, NULL, known)
                                  : takt_builder_upload(b, &name, *buffer, known));
    if (*known == UINT32_MAX)
        return takt_fail(b->p.ctx, TAKT_E_INTERNAL, "the value of %s is not where it is read",
                         b->p.graph->nodes[root].op->name);
    *buffer = *known;
    return TAKT_OK;
}

takt_status takt_builder_buffer(takt_builder *b, takt_id node, uint32_t *buffer)
{
    const takt_id root = b->root[node];
    uint32_t *known = &b->p.plan->buffer_of[root];
    if (b->is_late[root])
        TAKT_TRY(takt_builder_want(b, root));
    takt_builder_ask(b, root);
    if (*known == UINT32_MAX)
        TAKT_TRY(make_buffer(b, root, known));
    b->p.plan->buffer_of[node] = *known;
    *buffer = *known;
    return b->space == b->space_of[root] ? TAKT_OK : copy_of(b, root, buffer);
}
