/* map_run.c - runs a tile program. */
#include <string.h>

#include "backend/cpu/map_program.h"
#include "plan/execute.h"

/* Bound views are read in small tiles, which are gathered in memory of their own. */
enum { VIEW_TILE = 128, VIEW_BYTES = VIEW_TILE * 8 };

typedef struct machine {
    const takt_map_program *m;
    const takt_step *step;
    const takt_task *task;
    char *registers;
    size_t first, n;
    size_t run; /* tiles end where it does; 0: anywhere */
    float *hot;
    takt_fault fault;
    char (*room)[VIEW_BYTES]; /* for the operands of an instruction; NULL: all are dense */
    uint64_t kept;            /* operands whose expanded tiles are in their registers already */
} machine;

static void *reg(const machine *x, uint32_t index)
{
    return x->registers + index * takt_map_register(x->m);
}

/* ---- operands ---- */

/* One element n times. */
static void fill_run(char *to, const char *from, size_t n, size_t bytes)
{
    uint32_t word;
    if (bytes != sizeof word) {
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * bytes, from, bytes);
        return;
    }
    memcpy(&word, from, sizeof word);
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * sizeof word, &word, sizeof word);
}

static void copy_run(char *to, const char *from, size_t n, int64_t stride, size_t bytes)
{
    if (stride == 1) {
        memcpy(to, from, n * bytes);
        return;
    }
    if (stride == 0) {
        fill_run(to, from, n, bytes);
        return;
    }
    const int64_t step = stride * (int64_t)bytes;
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < n; i++)
            memcpy(to + i, from + (int64_t)i * step, 1);
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            memcpy(to + 2 * i, from + (int64_t)i * step, 2);
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            memcpy(to + 4 * i, from + (int64_t)i * step, 4);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            memcpy(to + 8 * i, from + (int64_t)i * step, 8);
        break;
    }
}

/* Where element `first` of the result lies in the operand, and the indices that led there. */
static int64_t locate(const takt_map_operand *o, size_t first, int64_t *index)
{
    int64_t at = 0;
    for (int d = o->rank - 1; d >= 0; d--) {
        index[d] = (int64_t)(first % (size_t)o->dim[d]);
        first /= (size_t)o->dim[d];
        at += index[d] * o->stride[d];
    }
    return at;
}

static int64_t advance(const takt_map_operand *o, int64_t *index, int64_t at)
{
    for (int d = o->rank - 2; d >= 0; d--) {
        at += o->stride[d];
        if (++index[d] < o->dim[d])
            return at;
        at -= o->stride[d] * o->dim[d];
        index[d] = 0;
    }
    return at;
}

/* The tile of a broadcast operand: in place if it is one run, else expanded into a register. */
static const char *gather(const machine *x, const takt_map_operand *o, const char *data, char *to,
                          unsigned char *is_scalar)
{
    int64_t index[TAKT_MAX_RANK];
    int64_t at = locate(o, x->first, index);
    const int inner = o->rank - 1;
    size_t run = (size_t)(o->dim[inner] - index[inner]);
    const int64_t stride = o->stride[inner];
    if (run >= x->n && (stride == 0 || stride == 1)) {
        *is_scalar = stride == 0;
        return data + at * (int64_t)o->bytes;
    }
    for (size_t done = 0; done < x->n;) {
        run = run < x->n - done ? run : x->n - done;
        copy_run(to + done * o->bytes, data + at * (int64_t)o->bytes, run, stride, o->bytes);
        done += run;
        at -= index[inner] * stride;
        index[inner] = 0;
        at = advance(o, index, at);
        run = (size_t)o->dim[inner];
    }
    return to;
}

/* The same, once for all tiles if they are alike. */
static const char *gather_once(machine *x, const takt_map_operand *o, const char *data,
                               unsigned char *is_scalar)
{
    const size_t number = (size_t)(o - x->m->operands);
    const uint64_t bit = o->repeats && x->room == NULL && number < 64 ? UINT64_C(1) << number : 0;
    char *to = reg(x, o->gathered);
    if ((x->kept & bit) != 0)
        return to;
    data = gather(x, o, data, to, is_scalar);
    if (data == to && x->n == x->m->tile)
        x->kept |= bit;
    return data;
}

/* The same with the strides of a bound view. */
static const char *gather_view(const machine *x, const takt_map_operand *o, const int64_t *stride,
                               char *to, unsigned char *is_scalar)
{
    takt_view view = x->step->in[o->view];
    takt_map_operand bound = *o;
    memcpy(view.stride, stride, sizeof view.stride);
    takt_map_collapse(x->m->shape, &view, &bound);
    const char *data = takt_view_data(x->task, &view);
    *is_scalar = bound.is_scalar;
    return bound.is_scalar ? data : gather(x, &bound, data, to, is_scalar);
}

/* Operand number `k` of an instruction. */
static const void *operand(machine *x, const takt_map_operand *o, int k, unsigned char *is_scalar)
{
    const char *data = takt_view_data(x->task, &x->step->in[o->view]);
    const int64_t *stride =
        x->room != NULL ? takt_view_stride(x->task, &x->step->in[o->view]) : NULL;
    *is_scalar = o->is_scalar;
    if (stride != NULL)
        data = gather_view(x, o, stride, x->room[k], is_scalar);
    else if (o->is_full)
        data += x->first * o->bytes;
    else if (!o->is_scalar)
        data = gather_once(x, o, data, is_scalar);
    if (!o->widens)
        return data;
    void *to = reg(x, o->widened);
    x->m->convert(&o->widen, to, data, *is_scalar ? 1 : x->n);
    return to;
}

static const void *source(machine *x, const takt_map_ref *ref, int k, unsigned char *is_scalar)
{
    *is_scalar = 0;
    if (ref->source == TAKT_MAP_REG)
        return reg(x, ref->index);
    if (ref->source == TAKT_MAP_HOT)
        return x->hot;
    return operand(x, &x->m->operands[ref->index], k, is_scalar);
}

/* ---- instructions ---- */

/* Copies one value over the whole tile: conversions have no scalar operands. */
static void spread(char *tile, size_t n, size_t bytes)
{
    for (size_t i = 1; i < n; i++)
        memcpy(tile + i * bytes, tile, bytes);
}

/* The operand, if the cast is what reading it does anyway, and only memory wants the result: then
 * it goes there in one pass. */
static const takt_map_operand *only_widens(const machine *x, const takt_map_instr *code)
{
    const takt_map_ref *from = &code->src[0];
    if (code->fn != NULL || code->out < 0 || code->is_read || code->narrows || x->room != NULL ||
        from->source != TAKT_MAP_VIEW)
        return NULL;
    const takt_map_operand *o = &x->m->operands[from->index];
    return o->is_full && o->widens && o->widen.to == code->cast.to ? o : NULL;
}

static void run_cast(machine *x, const takt_map_instr *code, const void *src, bool is_scalar,
                     char *out)
{
    char *dst = reg(x, code->dst);
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

static void run_code(machine *x, const takt_map_instr *code)
{
    const void *src[3];
    unsigned char is_scalar[3];
    char *out = NULL;
    if (code->out >= 0) {
        const takt_view *v = &x->step->out[code->out];
        out =
            (char *)takt_view_data(x->task, v) + x->first * ((size_t)takt_dtype_bits(v->dtype) / 8);
    }
    const takt_map_operand *wide = only_widens(x, code);
    if (wide != NULL) {
        const char *data = takt_view_data(x->task, &x->step->in[wide->view]);
        x->m->convert(&wide->widen, out, data + x->first * wide->bytes, x->n);
        return;
    }
    for (int k = 0; k < code->src_count; k++)
        src[k] = source(x, &code->src[k], k, &is_scalar[k]);
    if (code->fn == NULL) {
        run_cast(x, code, src[0], is_scalar[0] != 0, out);
        return;
    }
    void *dst = code->is_direct ? (void *)out : code->is_final ? (void *)x->hot : reg(x, code->dst);
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
        memcpy(reg(x, code->dst), dst, x->n * code->narrow_bytes);
    }
}

static void run_tile(machine *x)
{
    x->fault.base = x->first;
    for (size_t i = 0; i < x->m->code_count; i++)
        run_code(x, &x->m->code[i]);
}

static void run_tiles(machine *x, size_t first, size_t end, size_t tile)
{
    enum { POLLED = 16 }; /* tiles, of a few microseconds each */
    const takt_poll *poll = x->task != NULL ? x->task->poll : NULL;
    size_t tiles = 0;
    for (x->first = first; x->first < end; x->first += x->n) {
        if (tiles++ % POLLED == 0 && takt_poll_stops(poll))
            return;
        const size_t left = x->run > 0 ? x->run - x->first % x->run : tile;
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

static void run_views(machine *x, size_t first, size_t end)
{
    char room[3][VIEW_BYTES];
    x->room = room;
    run_tiles(x, first, end, VIEW_TILE);
    x->room = NULL;
}

/* Elements that share one value of every operand that is broadcast along the last axes: tiles that
 * end with them need not expand it. 0: they are too few, or other operands have tiles of their own.
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

/* As few tiles of a run as there can be, all of about one size. */
static size_t tile_of_run(size_t run, size_t tile)
{
    const size_t tiles = (run + tile - 1) / tile, even = (run + tiles - 1) / tiles;
    return even < tile - tile % 16 ? (even + 15) / 16 * 16 : tile;
}

void takt_map_run(const takt_map_program *m, const takt_step *step, const takt_task *task,
                  void *registers, size_t first, size_t end)
{
    machine x = {
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
    machine x = {.m = m,
                 .step = step,
                 .task = task,
                 .registers = registers,
                 .first = first,
                 .n = n,
                 .hot = hot,
                 .fault.index = TAKT_FAULT_NONE};
    run_tile(&x);
}
