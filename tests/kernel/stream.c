/* stream.c - holds the bandwidth kernels to sums and copies that are known. */
#include "kernel/stream/stream.h"

#include "check.h"

enum { A, B, C };

static void one(takt_check *c, const takt_kernel *reference, size_t count, int streams,
                size_t ahead)
{
    takt_stream s = {.count = count, .streams = streams, .ahead = ahead};
    const size_t bytes = count * sizeof *s.c;
    float *a = check_place(c, A, bytes, CHECK_AT_END), *b = check_place(c, B, bytes, CHECK_AT_END);
    float *want = check_place(c, C + 1, bytes, CHECK_AT_END);
    double sum = 0, got = 0;
    for (size_t i = 0; i < count; i++) {
        a[i] = (float)check_below(c, 100);
        b[i] = (float)check_below(c, 1000) - 500.0f;
        sum += (double)a[i];
    }
    s.a = a;
    s.b = b;
    for (s.kind = TAKT_STREAM_READ; s.kind <= TAKT_STREAM_TRIAD; s.kind++) {
        check_case(c, "kind %d, %zu elements, %d streams, %zu ahead", s.kind, count, streams,
                   ahead);
        s.c = want;
        (void)takt_kernel_as_stream(reference)(&s);
        s.c = check_place(c, C, bytes, CHECK_AT_END);
        CHECK_CALL(c, got = takt_kernel_as_stream(c->kernel)(&s));
        const double expected = s.kind == TAKT_STREAM_READ ? sum : 0;
        check_same_f64(c, &got, &expected, 1);
        if (s.kind != TAKT_STREAM_READ)
            check_same_f32(c, s.c, want, count);
        check_intact(c, C);
    }
}

void check_stream(takt_check *c, const takt_kernel *reference);
void check_stream(takt_check *c, const takt_kernel *reference)
{
    static const int streams[] = {1, 4, 6};
    for (size_t blocks = 0; blocks <= 12; blocks++)
        for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
            for (size_t ahead = 0; ahead <= 512; ahead += 512)
                one(c, reference, blocks * TAKT_STREAM_COUNT, streams[i], ahead);
    enum { COUNT = 1 << 18 };
    float *a = check_place(c, A, COUNT * sizeof *a, CHECK_AT_END);
    float *d = check_place(c, C, COUNT * sizeof *d, CHECK_AT_END);
    check_fill_f32(c, a, COUNT, CHECK_PLAIN);
    takt_stream s = {
        .kind = TAKT_STREAM_READ, .count = COUNT, .streams = 4, .a = a, .b = a, .c = d};
    CHECK_BENCH(c, "read 1 MiB", COUNT * 4.0, 0, takt_kernel_as_stream(c->kernel)(&s));
    s.kind = TAKT_STREAM_COPY;
    CHECK_BENCH(c, "copy 1 MiB", COUNT * 8.0, 0, takt_kernel_as_stream(c->kernel)(&s));
}
