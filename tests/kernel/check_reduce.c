/* check_reduce.c - one check for all reductions: rows, columns, runs and scattered elements. */
#include "check_reduce.h"

#include <string.h>

enum { WANT = 7 };

static const size_t sizes[] = {4, 8, 4, 8};
static const char *const names[] = {
#define X(NAME, name) name,
    TAKT_REDUCE_OPS(X)
#undef X
};

static void fill(takt_check *c, void *p, size_t n, reduce_type type, int values)
{
    if (type == REDUCE_F32)
        check_fill_f32(c, p, n, values);
    else if (type == REDUCE_F64)
        check_fill_f64(c, p, n, values);
    else
        check_fill_bytes(c, p, n * sizes[type]);
    /* equal elements, so that ties occur */
    for (size_t i = 1; i < n && i < 500 && values != CHECK_PLAIN; i++)
        if (check_below(c, 5) == 0)
            memcpy((char *)p + i * sizes[type], (char *)p + check_below(c, i) * sizes[type],
                   sizes[type]);
}

static bool is_arg(takt_reduce_op op)
{
    return op >= TAKT_REDUCE_ARGMAX;
}

/* The elements that `r` spans: one more than the last offset. */
static size_t span(const takt_reduce *r)
{
    return r->count == 0 || r->n == 0 ? 0 : takt_reduce_at(r, r->count - 1, r->n - 1) + 1;
}

static void check_once(takt_check *c, const takt_kernel *reference, takt_reduce *r,
                       reduce_type type)
{
    const int where = (int)check_below(c, CHECK_PLACES), values = (int)check_below(c, CHECK_VALUES);
    const size_t elements = span(r), out = r->count * (is_arg(r->op) ? 8 : sizes[type]);
    void *x = check_place(c, 1, elements * sizes[type], where);
    fill(c, x, elements, type, values);
    check_case(c, "%s count=%zu across=%zu n=%zu run=%zu step=%zu values %d", names[r->op],
               r->count, r->across, r->n, r->run, r->step, values);
    r->src = x;
    r->dst = check_place(c, WANT, out, CHECK_AT_END);
    const void *want = r->dst;
    takt_kernel_as_reduce_f32(reference)(r);
    r->dst = check_place(c, 0, out, where);
    memset(r->dst, 0x5a, out);
    CHECK_CALL(c, takt_kernel_as_reduce_f32(c->kernel)(r));
    if (is_arg(r->op) || type >= REDUCE_I32)
        check_same_bytes(c, r->dst, want, out);
    else if (type == REDUCE_F32)
        check_same_f32(c, r->dst, want, r->count);
    else
        check_same_f64(c, r->dst, want, r->count);
    check_intact(c, 0);
    check_intact(c, 1);
}

static takt_reduce rows_of(takt_reduce_op op, size_t count, size_t n, size_t gap)
{
    return (takt_reduce){.op = op, .count = count, .across = n + gap, .n = n, .run = n, .step = 1};
}

static takt_reduce columns_of(takt_reduce_op op, size_t count, size_t n, size_t gap)
{
    return (takt_reduce){
        .op = op, .count = count, .across = 1, .n = n, .run = n, .step = count + gap};
}

static void check_op(takt_check *c, const takt_kernel *reference, takt_reduce_op op,
                     reduce_type type)
{
    takt_reduce r;
    for (size_t n = 0; n <= CHECK_TAILS; n++) {
        r = rows_of(op, n % 10, n, n % 3);
        check_once(c, reference, &r, type);
        r = rows_of(op, 1, n, 0);
        check_once(c, reference, &r, type);
        r = columns_of(op, n, n % 37, n % 4);
        check_once(c, reference, &r, type);
        r = columns_of(op, n % 13, n, n % 2);
        check_once(c, reference, &r, type);
        /* runs of three or seven, as reduced axes that are not neighbours give */
        r = (takt_reduce){
            .op = op, .count = 3, .across = n + 40, .n = n, .run = 7, .run_stride = 11, .step = 1};
        check_once(c, reference, &r, type);
        r = (takt_reduce){
            .op = op, .count = n % 19, .across = 1, .n = n, .run = 3, .run_stride = 70, .step = 21};
        check_once(c, reference, &r, type);
        r = (takt_reduce){.op = op, .count = 4, .across = 3, .n = n, .run = n, .step = 13};
        check_once(c, reference, &r, type);
    }
    static const size_t lengths[] = {4095, 4096, 4097, 8192, 16401, 24700};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        r = rows_of(op, 1 + i % 6, lengths[i], i);
        check_once(c, reference, &r, type);
        r = columns_of(op, 1 + i % 6, lengths[i], i);
        check_once(c, reference, &r, type);
    }
    r = (takt_reduce){
        .op = op, .count = 2, .across = 9000, .n = 9000, .run = 300, .run_stride = 600, .step = 1};
    check_once(c, reference, &r, type);
}

/* Many rows, and more chunks of one than are processed at a time, of numbers with finite sums. They
 * come after all others, and the recorded digest is of those. */
static void check_long(takt_check *c, const takt_kernel *reference, takt_reduce_op op,
                       reduce_type type)
{
    enum { MOST = 69 * TAKT_REDUCE_CHUNK + 77 };
    const takt_reduce shapes[] = {rows_of(op, 1, MOST, 0),  rows_of(op, 150, 19, 2),
                                  rows_of(op, 65, 4200, 0), rows_of(op, 64, 4096, 0),
                                  rows_of(op, 39, 4096, 0), rows_of(op, 39, 4096, 1)};
    const uint64_t digest = c->digest;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        takt_reduce r = shapes[i];
        const size_t elements = span(&r), out = r.count * (is_arg(op) ? 8 : sizes[type]);
        void *x = check_place(c, 1, elements * sizes[type], CHECK_AT_END);
        fill(c, x, elements, type, CHECK_PLAIN);
        check_case(c, "%s, %zu rows of %zu", names[op], r.count, r.n);
        r.src = x;
        void *want = r.dst = check_place(c, WANT, out, CHECK_AT_END);
        takt_kernel_as_reduce_f32(reference)(&r);
        r.dst = check_place(c, 0, out, CHECK_AT_END);
        memset(r.dst, 0x5a, out);
        CHECK_CALL(c, takt_kernel_as_reduce_f32(c->kernel)(&r));
        check_same_bytes(c, r.dst, want, out);
        check_intact(c, 0);
    }
    c->digest = digest;
}

static void bench(takt_check *c, takt_reduce_op op, reduce_type type)
{
    const size_t rows = 64, n = 256;
    void *x = check_place(c, 1, rows * n * sizes[type], CHECK_AT_START);
    fill(c, x, rows * n, type, CHECK_PLAIN);
    void *dst = check_place(c, 0, n * 8, CHECK_AT_START);
    const double bytes = (double)(rows * n * sizes[type]);
    char what[40];
    takt_reduce r = rows_of(op, rows, n, 0);
    for (int columns = 0; columns < 2; columns++) {
        r.src = x;
        r.dst = dst;
        check_case(c, "%s %s", names[op], columns ? "columns" : "rows");
        memcpy(what, c->label, sizeof what);
        CHECK_BENCH(c, what, bytes, 0, takt_kernel_as_reduce_f32(c->kernel)(&r));
        r = columns_of(op, n, rows, 0);
    }
}

void check_reduce(takt_check *c, const takt_kernel *reference, reduce_type type)
{
    for (int op = 0; op < TAKT_REDUCE_OP_COUNT; op++)
        check_op(c, reference, (takt_reduce_op)op, type);
    for (int op = 0; op <= TAKT_REDUCE_MIN; op++)
        check_long(c, reference, (takt_reduce_op)op, type);
    for (int op = 0; c->bench && op < TAKT_REDUCE_OP_COUNT; op++)
        bench(c, (takt_reduce_op)op, type);
}
