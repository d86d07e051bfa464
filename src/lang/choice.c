/* choice.c - choices at run time: `a if c else b`, where c is a tensor.
 *
 * Each side becomes a subgraph. The outer tensors that either side names are the inputs of both. */
#include "ir/attr.h"
#include "lang/body.h"
#include "op/ops.h"

/* A number takes the element type of the tensor it is combined with. */
static takt_dtype dtype_of(takt_frame *const frames[2], const takt_value v[2])
{
    for (int i = 0; i < 2; i++)
        if (v[i].kind == TAKT_V_TENSOR)
            return takt_type_of(frames[i]->graph, v[i].id)->dtype;
    return TAKT_F32;
}

takt_value takt_eval_choice(takt_frame *f, const takt_ast *a, takt_value condition)
{
    takt_elab *e = f->e;
    const takt_ast *root = e->root;
    const takt_ast *parts[2] = {a->a, a->c};
    takt_names *used = takt_arena_array(&f->arena, 1, sizeof *used);
    takt_body b[2];
    if (used == NULL)
        return takt_out_of_memory(f);
    takt_names_walk(a->a, false, used);
    takt_names_walk(a->c, false, used);
    takt_names_keep_tensors(f, used);
    if (used->is_full)
        return takt_complain(f, a, TAKT_E_GRAPH_FULL, NULL, "a choice names more than %d values",
                             TAKT_NAMES);
    takt_value v[2] = {takt_value_poison(), takt_value_poison()}, out = takt_value_poison();
    e->root = NULL;
    for (int i = 0; i < 2; i++) {
        if (takt_body_begin(f, a, &b[i]))
            takt_body_take_all(f, &b[i], used);
        if (b[i].is_good)
            v[i] = takt_eval_word(&b[i].frame, parts[i]);
    }
    const takt_dtype dtype = dtype_of((takt_frame *const[]){&b[0].frame, &b[1].frame}, v);
    for (int i = 0; i < 2; i++)
        if (b[i].is_good)
            takt_body_give(&b[i], parts[i], "out", v[i], dtype);
    e->root = root;
    takt_value *in = takt_frame_items(f, used->count + 1);
    if (b[0].is_good && b[1].is_good && in != NULL) {
        takt_attr attrs[TAKT_MAX_ATTRS] = {{.is_set = false}};
        in[0] = condition;
        for (size_t i = 0; i < used->count; i++)
            in[i + 1] = *takt_frame_find(f, used->at[i]);
        attrs[takt_op_attr_index(&takt_op_if, "then")] = takt_attr_graph(b[0].frame.graph);
        attrs[takt_op_attr_index(&takt_op_if, "else")] = takt_attr_graph(b[1].frame.graph);
        out = takt_value_tensor(takt_elab_append(f, a, &takt_op_if, in, used->count + 1, attrs));
    }
    takt_body_end(f, &b[0]);
    takt_body_end(f, &b[1]);
    return out;
}
