/* run.c - runs the statements of a template, under the limits of a run. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "base/size.h"
#include "base/utf8.h"
#include "text/jinja/jinja.h"

/* ---- limits ---- */

void takt_jinja_stop(takt_jrun *r, takt_error_id id, const char *format, ...)
{
    char text[512];
    va_list args;
    if (r->status != TAKT_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[takt_utf8_cut(text, sizeof text - 1)] = '\0';
    r->status = takt_fail(r->ctx, id, "%s, line %u: %s", r->j->name, r->line, text);
    (void)takt_fail_place(r->ctx, (int)r->line, 1);
    takt_jinja_hint(r->ctx, id);
}

bool takt_jinja_step(takt_jrun *r, size_t work)
{
    const uint64_t limit = r->ctx->limits.trip_count;
    const uint64_t most = limit < TAKT_JINJA_STEPS ? limit : TAKT_JINJA_STEPS;
    r->steps += 1 + work / 16;
    if (r->steps > most)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "more than %" PRIu64 " steps", most);
    return r->status == TAKT_OK;
}

void *takt_jinja_get(takt_jrun *r, size_t count, size_t size)
{
    size_t bytes;
    if (r->status != TAKT_OK)
        return NULL;
    if (!takt_size_mul(count, size, &bytes) || bytes > TAKT_JINJA_VALUES - r->bytes) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "values take more than %d bytes",
                        TAKT_JINJA_VALUES);
        return NULL;
    }
    r->bytes += bytes;
    void *block = takt_arena_array(&r->arena, count > 0 ? count : 1, size);
    if (block == NULL)
        r->status = TAKT_ERR_MEMORY;
    return block;
}

/* ---- names ---- */

void takt_jframe_set(takt_jrun *r, takt_jframe *f, takt_span name, takt_jv value)
{
    if (f->count >= 16 && !takt_jinja_step(r, f->count)) /* names are searched linearly */
        return;
    for (size_t i = 0; i < f->count; i++)
        if (f->names[i].length == name.length &&
            memcmp(f->names[i].at, name.at, name.length) == 0) {
            f->values[i] = value;
            return;
        }
    if (f->count == f->capacity) {
        const size_t room = f->capacity > 0 ? 2 * f->capacity : 8;
        takt_span *names = takt_jinja_get(r, room, sizeof *names);
        takt_jv *values = takt_jinja_get(r, room, sizeof *values);
        if (names == NULL || values == NULL)
            return;
        for (size_t i = 0; i < f->count; i++) {
            names[i] = f->names[i];
            values[i] = f->values[i];
        }
        f->names = names;
        f->values = values;
        f->capacity = room;
    }
    f->names[f->count] = name;
    f->values[f->count++] = value;
}

static void assign_tuple(takt_jrun *r, takt_jframe *f, const takt_jnode *target, takt_jv value)
{
    const takt_jv items = takt_jv_items(r, value);
    size_t i = 0;
    if (r->status != TAKT_OK)
        return;
    for (const takt_jnode *n = target->first; n != NULL; n = n->next, i++) {
        if (i >= items.list->count)
            break;
        takt_jinja_assign(r, f, n, items.list->at[i]);
    }
    size_t names = 0;
    for (const takt_jnode *n = target->first; n != NULL; n = n->next)
        names++;
    if (names != items.list->count)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%zu values for %zu names", items.list->count,
                        names);
}

void takt_jinja_assign(takt_jrun *r, takt_jframe *f, const takt_jnode *target, takt_jv value)
{
    if (target->kind == TAKT_JN_NAME) {
        takt_jframe_set(r, f, target->text, value);
    } else if (target->kind == TAKT_JN_TUPLE) {
        assign_tuple(r, f, target, value);
    } else {
        const takt_jv space = takt_jinja_eval(r, f, target->a);
        if (space.kind == TAKT_JV_DICT && space.dict->is_namespace)
            takt_jv_put(r, space, takt_jv_span(target->text), value);
        else
            takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "attributes of namespaces alone can be set");
    }
}

/* ---- statements ---- */

/* The output of the statements, as a value. */
static takt_jv captured(takt_jrun *r, takt_jframe *f, const takt_jnode *first)
{
    takt_text text, *out = r->out;
    takt_text_init(&text, r->ctx);
    r->out = &text;
    takt_jinja_body(r, f, first);
    r->out = out;
    return takt_jv_gathered(r, &text);
}

static void run_if(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    for (const takt_jnode *b = n->first; b != NULL && r->status == TAKT_OK; b = b->next)
        if (b->a == NULL || takt_jv_truth(takt_jinja_eval(r, f, b->a))) {
            takt_jinja_body(r, f, b->first);
            return;
        }
}

/* The items that pass the loop's condition. */
static takt_jv chosen(takt_jrun *r, takt_jframe *f, const takt_jnode *n, takt_jv all)
{
    if (n->c == NULL || r->status != TAKT_OK)
        return all;
    const takt_jv some = takt_jv_list_new(r, all.list->count);
    takt_jframe inner = {.parent = f};
    for (size_t i = 0; i < all.list->count && r->status == TAKT_OK; i++) {
        inner.count = 0;
        takt_jinja_assign(r, &inner, n->a, all.list->at[i]);
        if (takt_jv_truth(takt_jinja_eval(r, &inner, n->c)))
            takt_jv_add(r, some, all.list->at[i]);
    }
    return some;
}

static void set_loop(takt_jrun *r, takt_jv loop, const takt_jv_list *l, size_t i)
{
    const struct {
        const char *name;
        takt_jv value;
    } facts[] = {{"index", takt_jv_int((int64_t)i + 1)},
                 {"index0", takt_jv_int((int64_t)i)},
                 {"revindex", takt_jv_int((int64_t)(l->count - i))},
                 {"revindex0", takt_jv_int((int64_t)(l->count - i) - 1)},
                 {"first", takt_jv_bool(i == 0)},
                 {"last", takt_jv_bool(i + 1 == l->count)},
                 {"length", takt_jv_int((int64_t)l->count)},
                 {"depth", takt_jv_int(1)},
                 {"depth0", takt_jv_int(0)},
                 {"previtem", i > 0 ? l->at[i - 1] : takt_jv_undefined()},
                 {"nextitem", i + 1 < l->count ? l->at[i + 1] : takt_jv_undefined()}};
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
        takt_jv_put(r, loop, takt_jv_word(facts[k].name), facts[k].value);
}

static void run_for(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    const takt_jv all = chosen(r, f, n, takt_jv_items(r, takt_jinja_eval(r, f, n->b)));
    takt_jframe inner = {.parent = f};
    if (r->status != TAKT_OK)
        return;
    const takt_jv loop = takt_jv_dict_new(r, 16);
    const takt_jv_list items = *all.list;
    for (size_t i = 0; i < items.count && r->status == TAKT_OK; i++) {
        if (!takt_jinja_step(r, 0))
            return;
        inner.count = 0;
        set_loop(r, loop, &items, i);
        takt_jframe_set(r, &inner, takt_span_of("loop"), loop);
        takt_jinja_assign(r, &inner, n->a, items.at[i]);
        takt_jinja_body(r, &inner, n->first);
        const int leaves = r->leaves;
        r->leaves = 0;
        if (leaves == TAKT_JN_BREAK)
            return;
    }
    if (items.count == 0 && n->d != NULL)
        takt_jinja_body(r, f, n->d->first);
}

static void run_set(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    takt_jv value;
    if (n->b != NULL) {
        value = takt_jinja_eval(r, f, n->b);
    } else {
        value = captured(r, f, n->first);
        value = n->c != NULL ? takt_jinja_filtered(r, f, n->c, value) : value;
    }
    if (r->status == TAKT_OK)
        takt_jinja_assign(r, f, n->a, value);
}

static void run_macro(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    takt_jv_macro *m = takt_jinja_get(r, 1, sizeof *m);
    takt_jframe *kept = takt_jinja_get(r, 1, sizeof *kept);
    if (m == NULL || kept == NULL)
        return;
    /* Frames of loops live on the stack, so a macro defined in a loop keeps a copy of its frame. */
    takt_jframe *top = f;
    while (top->parent != NULL)
        top = top->parent;
    *kept = *f;
    kept->parent = f->parent != NULL ? top : NULL;
    *m = (takt_jv_macro){n, f->parent != NULL ? kept : f};
    takt_jframe_set(r, f, n->text, (takt_jv){.kind = TAKT_JV_MACRO, .macro = m});
}

static void print(takt_jrun *r, takt_jv value)
{
    if (value.kind != TAKT_JV_UNDEFINED && r->status == TAKT_OK)
        takt_jv_write(r, r->out, value, false);
}

static void run_statement(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    switch (n->kind) {
    case TAKT_JN_DATA: print(r, takt_jv_span(n->text)); break;
    case TAKT_JN_PRINT: print(r, takt_jinja_eval(r, f, n->a)); break;
    case TAKT_JN_IF: run_if(r, f, n); break;
    case TAKT_JN_FOR: run_for(r, f, n); break;
    case TAKT_JN_SET: run_set(r, f, n); break;
    case TAKT_JN_MACRO: run_macro(r, f, n); break;
    case TAKT_JN_FILTERED:
        print(r, takt_jinja_filtered(r, f, n->c, captured(r, f, n->first)));
        break;
    case TAKT_JN_GROUP: takt_jinja_body(r, f, n->first); break;
    default: r->leaves = (int)n->kind; break; /* break or continue */
    }
}

void takt_jinja_body(takt_jrun *r, takt_jframe *f, const takt_jnode *first)
{
    if (++r->nested > TAKT_JINJA_NESTED)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "calls nest too deeply");
    for (const takt_jnode *n = first; n != NULL && r->leaves == 0; n = n->next) {
        r->line = n->line;
        if (!takt_jinja_step(r, 0))
            break;
        run_statement(r, f, n);
        if (r->out->status != TAKT_OK && r->status == TAKT_OK)
            r->status = r->out->status;
        if (r->out->length > TAKT_JINJA_OUTPUT)
            takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "it writes more than %d bytes",
                            TAKT_JINJA_OUTPUT);
    }
    r->nested--;
}

takt_status takt_jinja_run(const takt_jinja *j, const takt_json *variables,
                           const takt_jextra *extra, int64_t seconds, takt_text *out)
{
    takt_jrun r = {.j = j, .ctx = j->ctx, .out = out, .line = 1, .seconds = seconds};
    takt_jframe top = {0};
    takt_arena_init(&r.arena, j->ctx);
    for (; extra->name != NULL; extra++)
        takt_jframe_set(&r, &top, takt_span_of(extra->name), extra->value);
    for (const takt_json *v = takt_json_first(variables); v != NULL; v = takt_json_next(v))
        takt_jframe_set(&r, &top, takt_span_of(v->key), takt_jv_from_json(&r, v));
    if (r.status == TAKT_OK)
        takt_jinja_body(&r, &top, j->root->first);
    takt_arena_deinit(&r.arena);
    return r.status;
}
