/* map_run.c - runs a tile program. */
#include <string.h>

#include "backend/cpu/map_machine.h"

/* ---- instructions ---- */

/* Copies one value over the whole tile: conversions have no scalar operands. */
static void spread(char *tile, size_t n, size_t bytes)
{
    for (size_t i = 1; i < n; i++)
        memcpy(tile + i * bytes, tile, bytes);
}

/* The operand, if reading it does the cast anyway and the result only goes to memory: then one pass
 * does both. NULL otherwise. */
static const takt_map_operand *only_widens(const takt_map_machine *x, const takt_map_instr *code)
{
    const takt_map_ref *from = &code->src[0];
    if (code->fn != NULL || code->out < 0 || code->is_read || code->narrows || x->room != NULL ||
        from->source != TAKT_MAP_VIEW)
        return NULL;
    const takt_map_operand *o = &x->m->operands[from->index];
    return o->is_full && o->widens && o->widen.to == code->cast.to ? o : NULL;
}

static void run_cast(takt_map_machine *x, const takt_map_instr *code, const void *src,
                     bool is_scalar, char *out)
{
    char *dst = code->is_final               ? (char *)x->hot
                : code->dst == TAKT_MAP_NONE ? NULL
                                             : takt_map_reg(x, code->dst);
    const size_t n = is_scalar ? 1 : x->n;
    char narrow[TAKT_MAP_TILE * 2];
    const bool is_kept = !code->narrows && (out == NULL || code->is_read);
    char *to = is_kept ? dst : out != NULL ? out : narrow;
    x->m->convert(&code->cast, to, src, n);
    if (is_scalar)
        spread(to, x->n, code->narrow_bytes);
    if (code->narrows && code->is_read)
        x->m->convert(&code->widen, dst, to, x->n);
    else if (is_kept && out != NULL)
        memcpy(out, dst, x->n * code->narrow_bytes);
}

static void run_code(takt_map_machine *x, const takt_map_instr *code)
{
    const void *src[3];
    unsigned char is_scalar[3];
    char *out = takt_map_output(x, code);
    const takt_map_operand *wide = only_widens(x, code);
    if (wide != NULL) {
        const char *data = takt_view_data(x->task, &x->step->in[wide->view]);
        x->m->convert(&wide->widen, out, data + x->first * wide->bytes, x->n);
        return;
    }
    for (int k = 0; k < code->src_count; k++)
        src[k] = takt_map_read(x, &code->src[k], k, &is_scalar[k]);
    if (code->fn == NULL) {
        run_cast(x, code, src[0], is_scalar[0] != 0, out);
        return;
    }
    void *dst = code->is_direct  ? (void *)out
                : code->is_final ? (void *)x->hot
                                 : takt_map_reg(x, code->dst);
    code->fn(dst, src, is_scalar, x->n, code->can_fault ? &x->fault : NULL);
    if (code->narrows && code->is_exact) {
        if (out != NULL)
            x->m->convert(&code->narrow, out, dst, x->n);
    } else if (code->narrows) {
        char narrow[TAKT_MAP_TILE * 2];
        char *to = out != NULL ? out : narrow;
        x->m->convert(&code->narrow, to, dst, x->n);
        if (code->is_read)
            x->m->convert(&code->widen, dst, to, x->n);
    } else if (code->is_direct && code->keeps_copy) {
        memcpy(takt_map_reg(x, code->dst), dst, x->n * code->narrow_bytes);
    }
}

static void run_tile(takt_map_machine *x)
{
    const takt_map_program *m = x->m;
    x->fault.base = x->first;
    for (size_t i = 0; i < m->code_count;) {
        if (m->code[i].links > 0 && x->room == NULL && takt_map_pass(x, &m->code[i]))
            i += m->code[i].links;
        else
            run_code(x, &m->code[i++]);
    }
}

static void run_tiles(takt_map_machine *x, size_t first, size_t end, size_t tile)
{
    enum { POLLED = 16 }; /* tiles, of a few microseconds each */
    const takt_poll *poll = x->task != NULL ? x->task->poll : NULL;
    size_t tiles = 0;
    for (x->first = first; x->first < end; x->first += x->n) {
        if (tiles++ % POLLED == 0 && takt_poll_stops(poll))
            return;
        const size_t left = x->run > 0 ? x->run - takt_remainder(x->first, x->run) : tile;
        x->n = left < tile ? left : tile;
        x->n = end - x->first < x->n ? end - x->first : x->n;
        run_tile(x);
    }
}

static bool has_views(const takt_step *step, const takt_task *task)
{
    for (size_t i = 0; i < step->in_count; i++)
        if (takt_view_stride(task, &step->in[i]) != NULL)
            return true;
    return false;
}

static void run_views(takt_map_machine *x, size_t first, size_t end)
{
    char room[3][TAKT_MAP_VIEW_BYTES];
    x->room = room;
    run_tiles(x, first, end, TAKT_MAP_VIEW_TILE);
    x->room = NULL;
}

/* Elements that share one value of every operand that is broadcast along the last axes: tiles that
 * end with them need not expand it. 0: they are too few, or other operands need different tiles.
 */
static size_t shared_run(const takt_map_program *m)
{
    enum { LEAST = 256 };
    size_t run = 0;
    for (size_t i = 0; i < m->operand_count; i++) {
        const takt_map_operand *o = &m->operands[i];
        if (o->is_full || o->is_scalar)
            continue;
        const size_t n = (size_t)o->dim[o->rank - 1];
        if (o->repeats || (o->stride[o->rank - 1] == 0 && n < LEAST))
            return 0;
        if (o->stride[o->rank - 1] == 0)
            run = run == 0 || n < run ? n : run;
    }
    return run;
}

/* The fewest tiles for a run, all of about the same size. */
static size_t tile_of_run(size_t run, size_t tile)
{
    const size_t tiles = takt_quotient(run + tile - 1, tile),
                 even = takt_quotient(run + tiles - 1, tiles);
    return even < tile - tile % 16 ? (even + 15) / 16 * 16 : tile;
}

void takt_map_run(const takt_map_program *m, const takt_step *step, const takt_task *task,
                  void *registers, size_t first, size_t end)
{
    takt_map_machine x = {
        .m = m, .step = step, .task = task, .registers = registers, .fault.index = TAKT_FAULT_NONE};
    if (has_views(step, task)) {
        run_views(&x, first, end);
    } else {
        x.run = shared_run(m);
        run_tiles(&x, first, end, x.run > 0 ? tile_of_run(x.run, m->tile) : m->tile);
    }
    if (task->fault != NULL && x.fault.index != TAKT_FAULT_NONE)
        takt_fault_merge(task->fault, &x.fault);
}

void takt_map_finish(const takt_map_program *m, const takt_step *step, const takt_task *task,
                     void *registers, size_t first, size_t n, float *hot)
{
    takt_map_machine x = {.m = m,
                          .step = step,
                          .task = task,
                          .registers = registers,
                          .first = first,
                          .n = n,
                          .hot = hot,
                          .fault.index = TAKT_FAULT_NONE};
    run_tile(&x);
}
