/* stack.c - tensors of a file by name, and several of one type stacked into one matrix: queries,
 * keys and values are computed by one product. */
#include <stdio.h>
#include <string.h>

#include "io/gguf/late.h"
#include "io/map.h"
#include "op/ops.h"

enum { SHAPE = 100 };

/* "[11, 32]"; a size that the settings leave open is "any". */
static void put_shape(char to[SHAPE], const int64_t *dims, int rank)
{
    size_t length = (size_t)snprintf(to, SHAPE, "[");
    for (int d = 0; d < rank && length < SHAPE - 24; d++) {
        const char *comma = d > 0 ? ", " : "";
        length += (size_t)(dims[d] < 0 ? snprintf(to + length, SHAPE - length, "%sany", comma)
                                       : snprintf(to + length, SHAPE - length, "%s%lld", comma,
                                                  (long long)dims[d]));
    }
    (void)snprintf(to + length, SHAPE - length, "]");
}

/* In ggml every shape goes on with ones, so a file may have more or fewer of them in front. */
static takt_gguf_tensor with_rank(const takt_gguf_tensor *t, int rank)
{
    takt_gguf_tensor other = *t;
    while (other.rank > rank && other.dims[0] == 1)
        memmove(other.dims, other.dims + 1, (size_t)--other.rank * sizeof *other.dims);
    for (; other.rank < rank; other.rank++) {
        memmove(other.dims + 1, other.dims, (size_t)other.rank * sizeof *other.dims);
        other.dims[0] = 1;
    }
    return other;
}

const takt_gguf_tensor *takt_gguf_need(takt_gguf_model *m, takt_graph *g, const char *name,
                                       int rank, const int64_t *dims)
{
    const takt_gguf_tensor *t = takt_gguf_tensor_find(m->g, name);
    if (t == NULL) {
        takt_graph_fail(g, takt_gguf_fail(m->g, TAKT_E_GGUF_MODEL, m->g->data,
                                          "the tensor %s is missing", name));
        return NULL;
    }
    const takt_gguf_tensor wanted_rank = with_rank(t, rank);
    bool fits = wanted_rank.rank == rank;
    for (int d = 0; fits && d < rank; d++)
        fits = dims[d] < 0 || dims[d] == wanted_rank.dims[d];
    if (fits && m->is_read != NULL)
        m->is_read[t - m->g->tensors] = true;
    if (fits) {
        m->g->tensors[t - m->g->tensors] = wanted_rank;
        return t;
    }
    char is[SHAPE], wanted[SHAPE];
    put_shape(is, t->dims, t->rank);
    put_shape(wanted, dims, rank);
    takt_graph_fail(g, takt_gguf_fail(m->g, TAKT_E_GGUF_MODEL, t->offset,
                                      "the tensor %s is %s where the settings want %s", name, is,
                                      wanted));
    return NULL;
}

/* ---- names ---- */

size_t takt_gguf_choices(const char *name)
{
    const char *at = strchr(name, '{');
    size_t count = 1;
    for (; at != NULL && *at != '\0' && *at != '}'; at++)
        count += *at == ',';
    return count;
}

/* Appends a name as far as there is room. */
typedef struct sheet {
    char *to;
    size_t length;
    bool is_full;
} sheet;

static void put(sheet *s, const char *from, size_t length)
{
    s->is_full = s->is_full || length >= TAKT_GGUF_NAME - s->length;
    if (s->is_full)
        return;
    memcpy(s->to + s->length, from, length);
    s->length += length;
    s->to[s->length] = '\0';
}

bool takt_gguf_name(const char *name, const char *ending, size_t first, size_t count, char *to)
{
    const char *open = strchr(name, '{'), *close = open != NULL ? strchr(open, '}') : NULL;
    sheet s = {.to = to};
    put(&s, name, close != NULL ? (size_t)(open - name) : strlen(name));
    const char *at = close != NULL ? open + 1 : "";
    for (size_t i = 0; close != NULL && i < first + count; i++) {
        const size_t length = strcspn(at, ",}");
        if (i >= first)
            put(&s, at, length);
        at += length + (at[length] == ',');
    }
    if (close != NULL)
        put(&s, close + 1, strlen(close + 1));
    put(&s, ending, strlen(ending));
    return !s.is_full;
}

/* ---- parameters ---- */

static takt_status type_of(takt_gguf_model *m, const takt_gguf_stack *s, takt_type *type)
{
    const takt_gguf_tensor *t = s->at[0];
    *type = (takt_type){.dtype = t->type->dtype, .rank = t->rank};
    memcpy(type->dim, t->dims, sizeof t->dims);
    type->dim[0] = s->rows;
    if (t->type->dtype != TAKT_DTYPE_COUNT)
        return TAKT_OK;
    if (takt_gguf_format(t->type) == TAKT_GGML_FORMATS)
        return takt_gguf_fail(m->g, TAKT_E_GGUF_UNSUPPORTED, t->offset,
                              "%s has blocks of type %s, which Takt does not read", t->name,
                              t->type->name);
    type->dtype = TAKT_U8;
    const int64_t width = t->rank == 1 ? s->rows : t->dims[t->rank - 1];
    type->dim[t->rank - 1] = width / t->type->elements * t->type->bytes;
    return TAKT_OK;
}

const takt_source *takt_gguf_home(const takt_gguf_model *m, const takt_gguf_tensor *t)
{
    return t->shard == 0 ? m->source : &m->shards->at[t->shard - 1].source;
}

takt_status takt_gguf_bytes(const takt_gguf_model *m, const takt_gguf_tensor *t, uint8_t *to)
{
    const takt_source *home = takt_gguf_home(m, t);
    takt_late late;
    if (m->recipe == NULL)
        return takt_source_copy(home, home->bytes + t->offset, to, t->bytes);
    TAKT_TRY(m->recipe(m->user, t, &late));
    const takt_status status = late.read(late.user, 0, t->bytes, to);
    late.done(late.user);
    return status;
}

static takt_status load(takt_gguf_model *m, const takt_gguf_stack *s, takt_tensor *out)
{
    takt_type type;
    TAKT_TRY(type_of(m, s, &type));
    const takt_source *home = takt_gguf_home(m, s->at[0]);
    if (s->count == 1 && m->recipe == NULL &&
        takt_map_tensor(home->mapping, home->length, &type, home->bytes + s->at[0]->offset, out))
        return TAKT_OK;
    TAKT_TRY(takt_gguf_late(m, s, &type, (takt_gguf_part){0}, out));
    if (out->storage != NULL)
        return TAKT_OK;
    TAKT_TRY(takt_tensor_create(m->ctx, &type, out));
    uint8_t *to = takt_tensor_data(out);
    for (size_t i = 0; i < s->count; i++) {
        TAKT_TRY(takt_gguf_bytes(m, s->at[i], to));
        to += s->at[i]->bytes;
    }
    return TAKT_OK;
}

takt_id takt_gguf_parameter(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s)
{
    for (size_t i = 0; i < g->slot_count; i++)
        if (strcmp(g->slots[i].name, s->name) == 0)
            return g->slots[i].value;
    takt_tensor tensor = {0};
    const takt_status status = load(m, s, &tensor);
    takt_id id = TAKT_NONE;
    if (status == TAKT_OK) {
        const takt_init init = {.kind = TAKT_INIT_TENSOR, .tensor = &tensor};
        id = takt_graph_slot(g, s->name, &tensor.type, &init, true);
    } else {
        id = takt_graph_fail(g, status);
    }
    takt_tensor_release(&tensor);
    return id;
}
