/* sizes.c - compiling the table's entries to instructions, and running them.
 *
 * Entries refer only to older ones, so those that an expression needs, in table order, form a
 * program. */
#include "ir/sizes.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "base/sort.h"
#include "ir/dim_table.h"

takt_status takt_sizes_init(takt_sizes *s, takt_ctx *ctx, takt_dims *dims)
{
    *s = (takt_sizes){.ctx = ctx, .dims = dims, .name_count = takt_dims_name_count(dims)};
    return TAKT_OK;
}

void takt_sizes_deinit(takt_sizes *s)
{
    takt_mem_put(s->ctx, s->code, s->capacity * sizeof *s->code);
    takt_mem_put(s->ctx, s->cell_of, s->cell_capacity * sizeof *s->cell_of);
    takt_mem_put(s->ctx, s->asked, s->asked_capacity * sizeof *s->asked);
    takt_mem_put(s->ctx, s->stack, s->stack_capacity * sizeof *s->stack);
    *s = (takt_sizes){0};
}

size_t takt_sizes_bytes(const takt_sizes *s)
{
    return s->capacity * sizeof *s->code + s->cell_capacity * sizeof *s->cell_of +
           s->asked_capacity * sizeof *s->asked + s->stack_capacity * sizeof *s->stack;
}

/* ---- instructions ---- */

static takt_status emit(takt_sizes *s, takt_size_op op, uint32_t *cell)
{
    void *code = s->code;
    TAKT_TRY(takt_mem_grow(s->ctx, &code, &s->capacity, s->count + 1, sizeof *s->code));
    s->code = code;
    *cell = (uint32_t)takt_sizes_cells(s);
    s->code[s->count++] = op;
    return TAKT_OK;
}

static takt_status emit_number(takt_sizes *s, int64_t number, uint32_t *cell)
{
    const uint64_t bits = (uint64_t)number;
    for (size_t i = 0; i < s->count; i++)
        if (s->code[i].code == TAKT_SIZE_NUMBER && s->code[i].a == (uint32_t)bits &&
            s->code[i].b == (uint32_t)(bits >> 32)) {
            *cell = (uint32_t)(s->name_count + i);
            return TAKT_OK;
        }
    return emit(s, (takt_size_op){TAKT_SIZE_NUMBER, (uint32_t)bits, (uint32_t)(bits >> 32)}, cell);
}

/* The cell of an operand emitted earlier. */
static takt_status operand(takt_sizes *s, takt_dim d, uint32_t *cell)
{
    if (takt_dim_is_number(d))
        return emit_number(s, d, cell);
    *cell = s->cell_of[dim_entry_of(d)] - 1;
    return TAKT_OK;
}

static takt_status emit_term(takt_sizes *s, const dim_term *term, uint32_t *cell)
{
    bool is_first = term->count == 0 || term->factor != 1;
    if (is_first)
        TAKT_TRY(emit_number(s, term->factor, cell));
    for (uint32_t j = 0; j < term->count; j++) {
        const uint32_t atom = s->cell_of[term->atom[j]] - 1;
        if (!is_first)
            *cell = atom;
        else
            TAKT_TRY(emit(s, (takt_size_op){TAKT_SIZE_MUL, *cell, atom}, cell));
        is_first = true;
    }
    return TAKT_OK;
}

static takt_status emit_sum(takt_sizes *s, const dim_entry *e, uint32_t *cell)
{
    TAKT_TRY(emit_term(s, &e->term[0], cell));
    for (uint32_t i = 1; i < e->count; i++) {
        uint32_t term = 0;
        TAKT_TRY(emit_term(s, &e->term[i], &term));
        TAKT_TRY(emit(s, (takt_size_op){TAKT_SIZE_ADD, *cell, term}, cell));
    }
    return TAKT_OK;
}

static takt_status emit_entry(takt_sizes *s, uint32_t at)
{
    const dim_entry e = takt_dim_entry(s->dims, dim_of(at));
    uint32_t a = 0, b = 0, cell = 0;
    if (e.kind == DIM_NAME) {
        cell = (uint32_t)e.index;
    } else if (e.kind == DIM_SUM) {
        TAKT_TRY(emit_sum(s, &e, &cell));
    } else {
        static const takt_size_code codes[] = {[TAKT_DIM_FLOORDIV] = TAKT_SIZE_FLOORDIV,
                                               [TAKT_DIM_MOD] = TAKT_SIZE_MOD,
                                               [TAKT_DIM_MIN] = TAKT_SIZE_MIN,
                                               [TAKT_DIM_MAX] = TAKT_SIZE_MAX};
        TAKT_TRY(operand(s, e.a, &a));
        TAKT_TRY(operand(s, e.b, &b));
        TAKT_TRY(emit(s, (takt_size_op){codes[e.op], a, b}, &cell));
    }
    s->cell_of[at] = cell + 1;
    return TAKT_OK;
}

/* ---- which entries ---- */

static const uint32_t wanted = UINT32_MAX; /* as a cell: on the stack, not yet emitted */

static takt_status want(takt_sizes *s, takt_dim d, size_t *depth)
{
    if (takt_dim_is_number(d))
        return TAKT_OK;
    const uint32_t at = dim_entry_of(d);
    if (at >= s->cell_capacity) {
        const size_t old = s->cell_capacity;
        void *cells = s->cell_of;
        TAKT_TRY(
            takt_mem_grow(s->ctx, &cells, &s->cell_capacity, (size_t)at + 1, sizeof *s->cell_of));
        s->cell_of = cells;
        memset(s->cell_of + old, 0, (s->cell_capacity - old) * sizeof *s->cell_of);
    }
    if (s->cell_of[at] != 0)
        return TAKT_OK;
    void *stack = s->stack;
    TAKT_TRY(takt_mem_grow(s->ctx, &stack, &s->stack_capacity, *depth + 1, sizeof *s->stack));
    s->stack = stack;
    s->stack[(*depth)++] = at;
    s->cell_of[at] = wanted;
    return TAKT_OK;
}

static takt_status want_operands(takt_sizes *s, uint32_t at, size_t *depth)
{
    const dim_entry e = takt_dim_entry(s->dims, dim_of(at));
    if (e.kind == DIM_OP) {
        TAKT_TRY(want(s, e.a, depth));
        return want(s, e.b, depth);
    }
    for (uint32_t i = 0; e.kind == DIM_SUM && i < e.count; i++)
        for (uint32_t j = 0; j < e.term[i].count; j++)
            TAKT_TRY(want(s, dim_of(e.term[i].atom[j]), depth));
    return TAKT_OK;
}

/* The stack holds every entry that is needed, once; the traversal goes through it. */
static takt_status emit_all(takt_sizes *s, takt_dim d)
{
    size_t count = 0;
    TAKT_TRY(want(s, d, &count));
    for (size_t i = 0; i < count; i++)
        TAKT_TRY(want_operands(s, s->stack[i], &count));
    for (size_t i = 1; i < count; i++) /* insertion sort: they are few and nearly sorted */
        for (size_t k = i; k > 0 && s->stack[k - 1] > s->stack[k]; k--) {
            const uint32_t held = s->stack[k];
            s->stack[k] = s->stack[k - 1];
            s->stack[k - 1] = held;
        }
    for (size_t i = 0; i < count; i++)
        TAKT_TRY(emit_entry(s, s->stack[i]));
    return TAKT_OK;
}

takt_status takt_sizes_cell(takt_sizes *s, takt_dim dim, uint32_t *cell)
{
    TAKT_TRY(takt_dim_resolve(s->dims, dim, &dim));
    if (takt_dim_is_number(dim))
        return emit_number(s, dim, cell);
    TAKT_TRY(emit_all(s, dim));
    *cell = s->cell_of[dim_entry_of(dim)] - 1;
    for (size_t i = 0; i < s->asked_count; i++)
        if (s->asked[i] == *cell)
            return TAKT_OK;
    void *asked = s->asked;
    TAKT_TRY(
        takt_mem_grow(s->ctx, &asked, &s->asked_capacity, s->asked_count + 1, sizeof *s->asked));
    s->asked = asked;
    s->asked[s->asked_count++] = *cell;
    return TAKT_OK;
}

/* ---- running ---- */

static bool divide(int64_t a, int64_t b, int64_t *quotient, int64_t *rest)
{
    if (b <= 0)
        return false;
    *rest = a % b;
    *quotient = a / b;
    if (*rest < 0) {
        *rest += b;
        --*quotient;
    }
    return true;
}

static bool apply(const takt_size_op *op, const int64_t *cells, int64_t *out)
{
    int64_t other;
    if (op->code == TAKT_SIZE_NUMBER) {
        *out = (int64_t)((uint64_t)op->a | (uint64_t)op->b << 32);
        return true;
    }
    const int64_t a = cells[op->a], b = cells[op->b];
    switch (op->code) {
    case TAKT_SIZE_ADD: return takt_i64_add(a, b, out);
    case TAKT_SIZE_MUL: return takt_i64_mul(a, b, out);
    case TAKT_SIZE_FLOORDIV: return divide(a, b, out, &other);
    case TAKT_SIZE_MOD: return divide(a, b, &other, out);
    case TAKT_SIZE_MIN: *out = a < b ? a : b; return true;
    default: *out = a > b ? a : b; return true;
    }
}

takt_status takt_sizes_run(const takt_sizes *s, int64_t *cells)
{
    for (size_t i = 0; i < s->count; i++)
        if (!apply(&s->code[i], cells, &cells[s->name_count + i]))
            return takt_fail(s->ctx, TAKT_E_DIM,
                             "a dimension overflows or is divided by zero or less");
    for (size_t i = 0; i < s->asked_count; i++)
        if (cells[s->asked[i]] < 0)
            return takt_fail(s->ctx, TAKT_E_DIM, "a dimension would be %" PRId64,
                             cells[s->asked[i]]);
    return TAKT_OK;
}
