/* map_operand.c - addresses of the operands and results of a tile program. */
#include <string.h>

#include "backend/cpu/map_machine.h"

void takt_map_collapse(const takt_type *shape, const takt_view *v, takt_map_operand *o)
{
    int64_t stride[TAKT_MAX_RANK] = {0};
    for (int d = 0; d < v->rank; d++)
        stride[shape->rank - v->rank + d] = v->dim[d] == 1 ? 0 : v->stride[d];
    o->rank = 0;
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dim[d] == 1)
            continue;
        const int last = o->rank - 1;
        if (last >= 0 && o->stride[last] == stride[d] * shape->dim[d]) {
            o->dim[last] *= shape->dim[d];
            o->stride[last] = stride[d];
        } else {
            o->dim[o->rank] = shape->dim[d];
            o->stride[o->rank++] = stride[d];
        }
    }
    o->is_scalar = o->rank == 0 || (o->rank == 1 && o->stride[0] == 0);
    o->is_full = !o->is_scalar && o->rank == 1 && o->stride[0] == 1;
}

/* An element as often as it fits into eight bytes. */
static uint64_t repeated(const char *from, size_t bytes)
{
    unsigned char one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1: memcpy(&one, from, 1); return one * UINT64_C(0x0101010101010101);
    case 2: memcpy(&two, from, 2); return two * UINT64_C(0x0001000100010001);
    case 4: memcpy(&four, from, 4); return four * UINT64_C(0x0000000100000001);
    default: memcpy(&eight, from, 8); return eight;
    }
}

/* One element n times. The end is written by an overlapping block, or by halves of one. */
static void fill_run(char *to, const char *from, size_t n, size_t bytes)
{
    const uint64_t word = repeated(from, bytes), block[2] = {word, word};
    const size_t all = n * bytes;
    if (all >= sizeof block) {
        for (size_t i = 0; i + sizeof block < all; i += sizeof block)
            memcpy(to + i, block, sizeof block);
        memcpy(to + all - sizeof block, block, sizeof block);
        return;
    }
    if ((all & 8) != 0)
        memcpy(to, block, 8);
    if ((all & 4) != 0)
        memcpy(to + (all & 8), block, 4);
    if ((all & 2) != 0)
        memcpy(to + (all & 12), block, 2);
    if ((all & 1) != 0)
        memcpy(to + (all & 14), block, 1);
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

/* The position of element `first` of the result in the operand, and its indices. */
static int64_t locate(const takt_map_operand *o, size_t first, int64_t *index)
{
    int64_t at = 0;
    for (int d = o->rank - 1; d >= 0; d--) {
        const size_t left = takt_quotient(first, (size_t)o->dim[d]);
        index[d] = (int64_t)(first - left * (size_t)o->dim[d]);
        first = left;
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

/* Pairs of equal floats, as where channels are repeated for a depthwise convolution with two
 * outputs of each; `skips`: the first pair lacks its first element. */
static void copy_pairs(const float *from, bool skips, size_t n, float *to)
{
    if (skips && n > 0) {
        *to++ = *from++;
        n--;
    }
    for (size_t i = 0; i < n / 2; i++)
        to[2 * i] = to[2 * i + 1] = from[i];
    if (n % 2 != 0)
        to[n - 1] = from[n / 2];
}

/* The tile of a broadcast operand: in place if it is one run, else expanded into a register. */
static const char *gather(const takt_map_machine *x, const takt_map_operand *o, const char *data,
                          char *to, unsigned char *is_scalar)
{
    int64_t index[TAKT_MAX_RANK] = {0};
    int64_t at = locate(o, x->first, index);
    const int inner = o->rank - 1;
    size_t run = (size_t)(o->dim[inner] - index[inner]);
    const int64_t stride = o->stride[inner];
    if (run >= x->n && (stride == 0 || stride == 1)) {
        *is_scalar = stride == 0;
        return data + at * (int64_t)o->bytes;
    }
    if (inner == 1 && o->dim[1] == 2 && stride == 0 && o->stride[0] == 1 &&
        o->bytes == sizeof(float)) {
        copy_pairs((const float *)(const void *)data + at, index[1] > 0, x->n, (float *)(void *)to);
        return to;
    }
    for (size_t done = 0; done < x->n;) {
        run = run < x->n - done ? run : x->n - done;
        copy_run(to + done * o->bytes, data + at * (int64_t)o->bytes, run, stride, o->bytes);
        done += run;
        at -= index[inner] * stride;
        index[inner] = 0;
        run = (size_t)o->dim[inner];
        if (inner == 1) /* most columns that are broadcast */
            at += o->stride[0];
        else
            at = advance(o, index, at);
    }
    return to;
}

/* The same, once for all tiles if they are alike. */
static const char *gather_once(takt_map_machine *x, const takt_map_operand *o, const char *data,
                               unsigned char *is_scalar)
{
    const size_t number = (size_t)(o - x->m->operands);
    const uint64_t bit = o->repeats && x->room == NULL && number < 64 ? UINT64_C(1) << number : 0;
    char *to = takt_map_reg(x, o->gathered);
    if ((x->kept & bit) != 0)
        return to;
    data = gather(x, o, data, to, is_scalar);
    if (data == to && x->n == x->m->tile)
        x->kept |= bit;
    return data;
}

/* The same with the strides of a bound view. */
static const char *gather_view(const takt_map_machine *x, const takt_map_operand *o,
                               const int64_t *stride, char *to, unsigned char *is_scalar)
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
static const void *operand(takt_map_machine *x, const takt_map_operand *o, int k,
                           unsigned char *is_scalar)
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
    void *to = takt_map_reg(x, o->widened);
    x->m->convert(&o->widen, to, data, *is_scalar ? 1 : x->n);
    return to;
}

const void *takt_map_read(takt_map_machine *x, const takt_map_ref *ref, int k,
                          unsigned char *is_scalar)
{
    *is_scalar = 0;
    if (ref->source == TAKT_MAP_REG)
        return takt_map_reg(x, ref->index);
    if (ref->source == TAKT_MAP_HOT)
        return x->hot;
    return operand(x, &x->m->operands[ref->index], k, is_scalar);
}

char *takt_map_output(const takt_map_machine *x, const takt_map_instr *code)
{
    if (code->out < 0)
        return NULL;
    const takt_view *v = &x->step->out[code->out];
    return (char *)takt_view_data(x->task, v) + x->first * ((size_t)takt_dtype_bits(v->dtype) / 8);
}
