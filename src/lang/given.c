/* given.c - what the text of an architecture takes from the file: settings and stored tensors.
 *
 *     setting("block_count")              a number, truth value or string; setting(key, fallback)
 *     is_stored("output.weight")          whether there is such a tensor
 *     stored([n], "blk.", i, ".b")        the tensor as f32; its name is made of the parts
 *     project(x, n, "blk.", i, ".q")      x times the matrix ….weight, plus ….bias if there is one
 *     project(x, [n, m], "blk.", i, ".{q,k}")  several, stacked; one product if possible
 *     rows(ids, n, "token_embd.weight")   rows of a table
 *     packed([e, n, m], "blk.", i, ".w")  the tensor as it is stored, which may be blocks
 *     unpacked(x, "blk.", i, ".w")        x, gathered from that, as f32
 *     is_rounded("blk.", i, ".w")         whether products with it round activations to 8 bits
 *     chosen(x, ids, [e, n, m], "blk.", i, ".w")  x times the matrices of it that ids say; rounded
 */
#include <string.h>

#include "lang/elab.h"

static const char *unnamed(takt_frame *f, const takt_call *c)
{
    (void)takt_complain(f, c->ast, TAKT_E_CALL, NULL, "a name is made of strings and integers");
    return NULL;
}

/* The parts from `from` on, strings and integers, as one name; NULL after a complaint. */
static const char *name_of(takt_frame *f, const takt_call *c, size_t from)
{
    const char *name = "";
    for (size_t i = from; i < c->positional && name != NULL; i++) {
        const takt_value *v = &c->value[i];
        if (v->kind == TAKT_V_STRING)
            name = takt_arena_format(&f->arena, "%s%.*s", name, (int)v->text.length, v->text.at);
        else if (v->kind == TAKT_V_INT)
            name = takt_arena_format(&f->arena, "%s%lld", name, (long long)v->i);
        else
            return unnamed(f, c);
    }
    if (name == NULL)
        (void)takt_out_of_memory(f);
    return name;
}

static takt_value setting(takt_frame *f, const takt_call *c)
{
    const takt_parse_given *given = f->e->options->given;
    takt_given_value v = {0};
    if (c->positional < 1 || c->value[0].kind != TAKT_V_STRING)
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL, "setting takes a key, and a fallback");
    const char *key = takt_arena_text(&f->arena, c->value[0].text.at, c->value[0].text.length);
    if (key == NULL)
        return takt_out_of_memory(f);
    if (given->setting(given->user, key, &v) != TAKT_OK)
        return takt_complain_last(f, c->ast);
    switch (v.kind) {
    case TAKT_GIVEN_INTEGER: return takt_value_int(v.integer);
    case TAKT_GIVEN_NUMBER: return takt_value_float(v.number);
    case TAKT_GIVEN_BOOL: return takt_value_bool(v.boolean);
    case TAKT_GIVEN_TEXT: return (takt_value){.kind = TAKT_V_STRING, .text = v.text};
    case TAKT_GIVEN_NOTHING: break;
    }
    if (c->positional > 1)
        return c->value[1];
    return takt_complain(f, c->ast, TAKT_E_UNDEFINED, NULL, "the setting %s is missing", key);
}

/* is_stored and is_rounded. */
static takt_value is_so(takt_frame *f, const takt_call *c, bool (*holds)(void *, const char *))
{
    const char *name = name_of(f, c, 0);
    return name != NULL ? takt_value_bool(holds(f->e->options->given->user, name))
                        : takt_value_poison();
}

static takt_value appended(takt_frame *f, const takt_call *c, takt_id id)
{
    return id != TAKT_NONE ? takt_value_tensor(id) : takt_complain_last(f, c->ast);
}

/* stored and packed. */
static takt_value stored(takt_frame *f, const takt_call *c, bool is_packed)
{
    const takt_parse_given *given = f->e->options->given;
    takt_type type = {.dtype = TAKT_F32};
    const char *name = name_of(f, c, 1);
    if (name == NULL)
        return takt_value_poison();
    if (c->value[0].kind != TAKT_V_LIST || c->value[0].count > TAKT_MAX_RANK)
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL, "%s takes a list of sizes first",
                             c->name->text);
    for (uint32_t i = 0; i < c->value[0].count; i++) {
        if (c->value[0].items[i].kind != TAKT_V_INT)
            return takt_complain(f, c->ast, TAKT_E_DIM, NULL, "the sizes of %s must be numbers",
                                 name);
        type.dim[type.rank++] = c->value[0].items[i].i;
    }
    return appended(f, c,
                    is_packed ? given->packed(given->user, f->graph, name, &type)
                              : given->stored(given->user, f->graph, name, &type));
}

static takt_value unpacked(takt_frame *f, const takt_call *c)
{
    const takt_parse_given *given = f->e->options->given;
    const char *name = name_of(f, c, 1);
    const takt_value *x = &c->value[0];
    if (name == NULL || x->kind == TAKT_V_POISON)
        return takt_value_poison();
    if (x->kind != TAKT_V_TENSOR)
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL, "unpacked takes a tensor and a name");
    return appended(f, c, given->unpacked(given->user, f->graph, name, x->id));
}

enum { MATRICES = 8 }; /* of one product */

/* The sizes in `v`: a number, or a list of numbers. 0: it is neither. */
static size_t sizes_of(const takt_value *v, int64_t *sizes)
{
    if (v->kind == TAKT_V_INT) {
        sizes[0] = v->i;
        return 1;
    }
    if (v->kind != TAKT_V_LIST || v->count > MATRICES)
        return 0;
    for (uint32_t i = 0; i < v->count; i++) {
        if (v->items[i].kind != TAKT_V_INT)
            return 0;
        sizes[i] = v->items[i].i;
    }
    return v->count;
}

/* project and rows. */
static takt_value applied(takt_frame *f, const takt_call *c, bool is_product)
{
    const takt_parse_given *given = f->e->options->given;
    const char *name = c->positional > 2 ? name_of(f, c, 2) : NULL;
    int64_t sizes[MATRICES];
    if (name == NULL)
        return takt_value_poison();
    const takt_value *x = &c->value[0];
    const size_t count = sizes_of(&c->value[1], sizes);
    if (x->kind == TAKT_V_POISON || c->value[1].kind == TAKT_V_POISON)
        return takt_value_poison();
    if (x->kind != TAKT_V_TENSOR || count == 0 || (count > 1 && !is_product))
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL, "%s takes a tensor, a size and a name",
                             c->name->text);
    return appended(f, c,
                    is_product ? given->project(given->user, f->graph, name, x->id, sizes, count)
                               : given->rows(given->user, f->graph, name, x->id, sizes[0]));
}

static takt_value chosen(takt_frame *f, const takt_call *c)
{
    const takt_parse_given *given = f->e->options->given;
    const char *name = c->positional > 3 ? name_of(f, c, 3) : NULL;
    int64_t sizes[MATRICES];
    if (name == NULL)
        return takt_value_poison();
    for (size_t i = 0; i < 3; i++)
        if (c->value[i].kind == TAKT_V_POISON)
            return takt_value_poison();
    if (c->value[0].kind != TAKT_V_TENSOR || c->value[1].kind != TAKT_V_TENSOR ||
        sizes_of(&c->value[2], sizes) != 3)
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL,
                             "chosen takes a tensor, indices, three sizes and a name");
    const takt_id in[2] = {c->value[0].id, c->value[1].id};
    return appended(f, c, given->chosen(given->user, f->graph, name, in, sizes));
}

bool takt_call_given(takt_frame *f, const takt_call *c, takt_value *out)
{
    const char *name = c->name->text;
    if (f->e->options->given == NULL || c->positional == 0)
        return false;
    if (strcmp(name, "setting") == 0)
        *out = setting(f, c);
    else if (strcmp(name, "is_stored") == 0)
        *out = is_so(f, c, f->e->options->given->is_stored);
    else if (strcmp(name, "is_rounded") == 0)
        *out = is_so(f, c, f->e->options->given->is_rounded);
    else if (strcmp(name, "chosen") == 0)
        *out = chosen(f, c);
    else if (strcmp(name, "stored") == 0 || strcmp(name, "packed") == 0)
        *out = stored(f, c, name[0] == 'p');
    else if (strcmp(name, "unpacked") == 0)
        *out = unpacked(f, c);
    else if (strcmp(name, "project") == 0 || strcmp(name, "rows") == 0)
        *out = applied(f, c, name[0] == 'p');
    else
        return false;
    return true;
}
