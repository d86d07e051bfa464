/* whole.c - operators that were read whole (io/tflite/whole.h): written back unchanged. */
#include <stdio.h>
#include <string.h>

#include "io/tflite/whole.h"
#include "io/tflite/write/emit.h"

enum { NAME, BODY }; /* attributes of custom */
enum { MOST = 32 };  /* inputs of an operator, and its intermediate tensors */

bool takt_tflw_is_whole(const takt_node *n)
{
    const size_t length = sizeof TAKT_TFL_WHOLE - 1;
    return n->op == &takt_op_custom && strncmp(n->attr[NAME].string, TAKT_TFL_WHOLE, length) == 0;
}

/* The number of a port in a list, by its name; `count` if there is none. */
static size_t find(const takt_port *ports, size_t count, const char *kind, size_t i)
{
    char name[32];
    size_t k = 0;
    snprintf(name, sizeof name, "%s_%zu", kind, i);
    while (k < count && strcmp(ports[k].name, name) != 0)
        k++;
    return k;
}

static takt_id given(const takt_node *n, const char *kind, size_t i)
{
    const takt_graph *body = n->attr[BODY].graph;
    const size_t at = find(body->inputs, body->input_count, kind, i);
    return at < body->input_count ? n->in[at] : TAKT_NONE;
}

/* The result of this name: the node itself if it has only one. */
static takt_id result(const takt_tflw *w, takt_id id, const char *kind, size_t i)
{
    const takt_node *n = &w->g->nodes[id];
    const takt_graph *body = n->attr[BODY].graph;
    const size_t at = find(body->outputs, body->output_count, kind, i);
    if (at == body->output_count || body->output_count == 1)
        return at == 0 ? id : TAKT_NONE;
    return takt_tflw_part(w, id, at);
}

static const void *data_of(const takt_tflw *w, takt_id id, takt_dtype dtype, size_t *count)
{
    const takt_node *n = id == TAKT_NONE ? NULL : &w->g->nodes[id];
    return n != NULL && n->op == &takt_op_constant && n->type->dtype == dtype &&
                   takt_type_count(n->type, count) && *count > 0
               ? takt_tensor_data(n->attr[0].tensor)
               : NULL;
}

/* Scales and zero points; count 0 if the tensor has none. */
static takt_tflw_grid grid_of(const takt_tflw *w, const takt_node *n, const char *kind, size_t i)
{
    char scale[16], zero[16], axis[16];
    size_t scales = 0, zeros = 0, axes = 0;
    snprintf(scale, sizeof scale, "scale_%s", kind);
    snprintf(zero, sizeof zero, "zero_%s", kind);
    snprintf(axis, sizeof axis, "axis_%s", kind);
    const int64_t *at = data_of(w, given(n, axis, i), TAKT_I64, &axes);
    const takt_tflw_grid grid = {.scale = data_of(w, given(n, scale, i), TAKT_F32, &scales),
                                 .zero = data_of(w, given(n, zero, i), TAKT_I64, &zeros),
                                 .count = scales,
                                 .axis = at != NULL ? (int)*at : 0};
    const bool is_good = grid.scale != NULL && grid.zero != NULL && zeros == scales;
    return is_good ? grid : (takt_tflw_grid){0};
}

static void set_grid(takt_tflw *w, takt_id id, takt_tflw_grid grid)
{
    if (id != TAKT_NONE && grid.count > 0 && w->g->nodes[id].op != &takt_op_constant)
        w->grids[id] = grid;
}

void takt_tflw_whole_grids(takt_tflw *w, takt_id id)
{
    const takt_node *n = &w->g->nodes[id];
    for (size_t i = 0; i < MOST; i++) {
        set_grid(w, given(n, "in", i), grid_of(w, n, "in", i));
        set_grid(w, result(w, id, "next", i), grid_of(w, n, "in", i));
    }
    set_grid(w, result(w, id, "out", 0), grid_of(w, n, "out", 0));
}

bool takt_tflw_keeps_slot(const takt_tflw *w, const takt_slot *slot)
{
    const takt_id user = slot->value == TAKT_NONE ? TAKT_NONE : w->user[slot->value];
    if (user == TAKT_NONE || w->uses[slot->value] != 1 || !takt_tflw_is_whole(&w->g->nodes[user]))
        return false;
    for (size_t i = 0; i < MOST; i++)
        if (given(&w->g->nodes[user], "in", i) == slot->value)
            return slot->next != TAKT_NONE && slot->next == result(w, user, "next", i);
    return false;
}

/* Input `i`: left out, a constant on its grid, or a value. */
static int32_t input(takt_tflw *w, const takt_node *n, size_t i)
{
    const takt_id id = given(n, "in", i);
    takt_tflw_constant c;
    if (id == TAKT_NONE)
        return -1;
    if (takt_tflw_constant_of(w, id, &c)) {
        c.grid = grid_of(w, n, "in", i);
        return takt_tflw_integers(w, &c);
    }
    const int32_t x = takt_tflw_value(w, id);
    if (result(w, w->id, "next", i) != TAKT_NONE && !takt_tflw_at(w, x)->is_variable)
        takt_tflw_fail(w, "its state is read or set by other operators");
    return x;
}

static void between(takt_tflw *w, const takt_node *n, size_t count, takt_tflw_op *op)
{
    int32_t *at = takt_arena_array(&w->arena, count + 1, sizeof *at);
    if (at == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return;
    }
    for (size_t i = 0; i < count && w->status == TAKT_OK; i++) {
        const takt_id like = given(n, "mid", i);
        const takt_tflw_grid grid = grid_of(w, n, "mid", i);
        at[i] =
            like == TAKT_NONE ? -1 : takt_tflw_tensor_new(w, NULL, takt_type_of(w->g, like), &grid);
    }
    op->between = at;
    op->between_count = count;
}

static void write_op(takt_tflw *w, const takt_node *n, const int64_t *head, size_t count)
{
    int32_t in[MOST];
    const char *name = n->attr[NAME].string + sizeof TAKT_TFL_WHOLE - 1;
    for (size_t i = 0; i < (size_t)head[1]; i++)
        in[i] = input(w, n, i);
    const takt_id out = result(w, w->id, "out", 0);
    const int32_t y = out == TAKT_NONE ? -1 : takt_tflw_result(w, out, NULL);
    takt_tflw_op *op = takt_tflw_call(w, name, (size_t)head[1], in, y);
    if (op == NULL)
        return;
    if (op->code < 0 || y < 0)
        takt_tflw_fail(w, "TensorFlow Lite has no operator %s of this form", name);
    for (size_t i = TAKT_TFL_OPTIONS_HEAD; i + 2 < count; i += 3)
        takt_tflw_option(op, (int)head[0], (int)head[i], head[i + 1] == 1 ? 1 : 4, head[i + 2]);
    between(w, n, (size_t)head[2], op);
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    const takt_graph *body = n->attr[BODY].graph;
    size_t at = 0, count = 0;
    if (n->op == &takt_op_get) /* made with its node */
        return w->at[w->id] >= 0 || takt_tflw_is_whole(&w->g->nodes[n->in[0]]);
    if (!takt_tflw_is_whole(n))
        return false;
    while (at < body->input_count && strcmp(body->inputs[at].name, "options") != 0)
        at++;
    const int64_t *head = at < body->input_count ? data_of(w, n->in[at], TAKT_I64, &count) : NULL;
    if (head == NULL || count < TAKT_TFL_OPTIONS_HEAD || head[0] < 0 || head[0] > 127 ||
        head[1] < 0 || head[1] > MOST || head[2] < 0 || head[2] > MOST ||
        count > TAKT_TFL_OPTIONS_HEAD + 3 * TAKT_TFLW_FIELDS)
        return false;
    for (size_t i = TAKT_TFL_OPTIONS_HEAD; i < count; i += 3)
        if (head[i] < 0 || head[i] >= MOST)
            return false;
    write_op(w, n, head, count);
    return true;
}

const takt_tflw_emitter takt_tflw_op_whole = {{&takt_op_custom, &takt_op_get}, emit};
