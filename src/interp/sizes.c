/* sizes.c - sizes found at run time in the interpreter: bodies of loops.
 *
 * A whole model has its sizes fixed before it runs, and the caller compares them. A body may find
 * other sizes in every iteration; there, the result of a `length` holds for its names until its
 * next result.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "interp/run.h"
#include "op/util/length.h"

/* Room for all names, of which there may be more by now. */
static takt_status make_room(interp *it, const takt_graph *g)
{
    const size_t count = takt_dims_name_count(g->dims);
    void *block;
    if (count <= it->size_count)
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(it->ctx, count * sizeof *it->sizes, "sizes", &block));
    int64_t *sizes = block;
    for (size_t i = 0; i < count; i++)
        sizes[i] = i < it->size_count ? it->sizes[i] : -1;
    takt_mem_put(it->ctx, it->sizes, it->size_count * sizeof *it->sizes);
    it->sizes = sizes;
    it->size_count = count;
    return TAKT_OK;
}

static takt_status put(const interp *it, const takt_graph *g, takt_dim from, takt_dim *to)
{
    TAKT_TRY(takt_dim_resolve(g->dims, from, to));
    if (takt_dim_is_number(*to) || it->size_count == 0)
        return TAKT_OK;
    return takt_dim_substitute(g->dims, *to, it->sizes, it->size_count, to);
}

static takt_status fail_bound(const interp *it, int64_t found, takt_dim most)
{
    takt_fail(it->ctx, TAKT_E_LENGTH, "a size is %" PRId64 ", its bound %" PRId64, found,
              takt_dim_is_number(most) ? most : INT64_MAX);
    return takt_fail_hint(it->ctx, found < 0 ? "no size is negative" : "raise it with --bound");
}

takt_status takt_interp_found(interp *it, const takt_graph *g, const takt_node *n,
                              const takt_array *found)
{
    const takt_attr *names = &n->attr[TAKT_LENGTH_NAMES], *bounds = &n->attr[TAKT_LENGTH_BOUNDS];
    if (it->depth == 0)
        return TAKT_OK;
    TAKT_TRY(make_room(it, g));
    for (uint32_t k = 0; k < names->count; k++) {
        const int64_t size = found->i[k];
        takt_dim most, is;
        size_t name;
        TAKT_TRY(put(it, g, bounds->dims[k], &most));
        TAKT_TRY(takt_dim_resolve(g->dims, names->dims[k], &is));
        const bool is_name = takt_dim_is_name(g->dims, is, &name);
        if (size < 0 || (is_name && takt_dim_is_number(most) && size > most))
            return fail_bound(it, size, most);
        const int64_t known = takt_dim_is_number(is) ? is : is_name ? it->sizes[name] : -1;
        if (is_name && takt_length_names(g, n, k, &name))
            it->sizes[name] = size;
        else if (known >= 0 && known != size)
            return takt_fail(it->ctx, TAKT_E_LENGTH_DIFFERS,
                             "a size is %" PRId64 ", and has to be %" PRId64, size, known);
    }
    return TAKT_OK;
}

takt_status takt_interp_type(const interp *it, const takt_graph *g, const takt_type *from,
                             takt_type *type)
{
    *type = *from;
    for (int i = 0; i < type->rank; i++)
        TAKT_TRY(put(it, g, from->dim[i], &type->dim[i]));
    if (takt_type_is_concrete(type))
        return TAKT_OK;
    char text[TAKT_TYPE_TEXT];
    return takt_fail(it->ctx, TAKT_E_PLAN_SIZE, "a value of type %s has no concrete size",
                     takt_type_text(g->dims, type, text));
}

static bool is_open(const takt_node *n)
{
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++)
        for (uint32_t k = 0;
             n->attr[i].is_set && n->op->attrs[i].type == TAKT_ATTR_SHAPE && k < n->attr[i].count;
             k++)
            if (!takt_dim_is_number(n->attr[i].dims[k]))
                return true;
    return false;
}

takt_status takt_interp_attrs(const interp *it, const takt_graph *g, const takt_node *n,
                              takt_arena *scratch, const takt_attr **attrs)
{
    const size_t count = takt_op_attr_count(n->op);
    *attrs = n->attr;
    if (it->size_count == 0 || !is_open(n))
        return TAKT_OK;
    takt_attr *now = takt_arena_copy(scratch, n->attr, count * sizeof *now);
    if (now == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!now[i].is_set || n->op->attrs[i].type != TAKT_ATTR_SHAPE)
            continue;
        takt_dim *dims = takt_arena_copy(scratch, now[i].dims, now[i].count * sizeof *dims);
        if (dims == NULL)
            return TAKT_ERR_MEMORY;
        for (uint32_t k = 0; k < now[i].count; k++)
            TAKT_TRY(put(it, g, dims[k], &dims[k]));
        now[i].dims = dims;
    }
    *attrs = now;
    return TAKT_OK;
}
