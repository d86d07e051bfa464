/* check.h - what the checks of kernel families are written with.
 *
 * tests/kernel/<family>.c defines check_<family>(c, reference): it calls c->kernel and `reference`
 * on the same data and holds one to the other. check_kernels.c finds families and variants, catches
 * crashes, and reports.
 *
 *     void check_rowsum_f32(takt_check *c, const takt_kernel *reference)
 *     {
 *         for (size_t n = 0; n <= CHECK_TAILS; n++)
 *             for (int where = 0; where < CHECK_PLACES; where++) {
 *                 float *x = check_place(c, 0, n * sizeof *x, where);
 *                 check_fill_f32(c, x, n, CHECK_MIXED);
 *                 check_case(c, "n=%zu place %d", n, where);
 *                 float got, want = takt_kernel_as_rowsum_f32(reference)(x, n);
 *                 CHECK_CALL(c, got = takt_kernel_as_rowsum_f32(c->kernel)(x, n));
 *                 check_same_f32(c, &got, &want, 1);
 *             }
 *         CHECK_BENCH(c, 4.0 * N, N, takt_kernel_as_rowsum_f32(c->kernel)(x, N));
 *     }
 */
#ifndef TAKT_TESTS_KERNEL_CHECK_H
#define TAKT_TESTS_KERNEL_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

enum {
    CHECK_TAILS = 130,         /* every tail of every unrolling up to 64 */
    CHECK_SLOTS = 13,          /* buffers at a time */
    CHECK_SLOT_BYTES = 1 << 22 /* their greatest size */
};

/* Position of a buffer in its slot: directly before the inaccessible page after it, directly after
 * the one before it, or unaligned in the middle, off by 1..63 elements. */
typedef enum check_where {
    CHECK_AT_END,
    CHECK_AT_START,
    CHECK_MISALIGNED,
    CHECK_PLACES,
    CHECK_SCRATCH = CHECK_PLACES /* near the end, 64-byte aligned; for check_scratch */
} check_where;

/* What values a buffer gets. */
typedef enum check_values {
    CHECK_PLAIN,   /* uniform in [-4, 4) */
    CHECK_MIXED,   /* all magnitudes, with zeros of both signs, denormals, infinities and NaN */
    CHECK_SPECIAL, /* only such */
    CHECK_TINY,    /* denormals, and numbers whose products are denormal */
    CHECK_EQUAL,   /* one value throughout */
    CHECK_VALUES
} check_values;

typedef struct takt_check {
    const takt_kernel *kernel; /* under test */
    const takt_kernel_unit *unit;
    uint64_t random; /* state of the generator; the same for every variant of a family */
    uint64_t digest; /* of all results that were compared, NaN counted as one value */
    unsigned long cases, failures;
    unsigned long timed; /* lines of this kernel, each with its ceiling where that is known */
    bool bench, once;    /* once: everything that would be timed runs once, nothing is printed */
    struct {             /* the maximum of this machine on one thread; zero: unknown */
        double f32, f64, i8, f16, bf16;  /* GFLOP/s, Gop/s */
        double read_gbs[4], copy_gbs[4]; /* of each level; copy: whichever is faster */
        double level_bytes[4];
        bool is_known;
    } ceiling;
    void (*give_up)(void); /* planted kernels: ends the check at its first failure, in silence */
    char label[160];       /* the current case */
    unsigned char *slot[CHECK_SLOTS]; /* CHECK_SLOT_BYTES each, between inaccessible pages */
    struct {
        unsigned char *p;
        size_t bytes;
    } placed[CHECK_SLOTS];
} takt_check;

typedef void check_fn(takt_check *c, const takt_kernel *reference);

/* Names the case in reports. */
__attribute__((format(printf, 2, 3))) void check_case(takt_check *c, const char *format, ...);
/* A failure of the current case. */
__attribute__((format(printf, 2, 3))) void check_fail(takt_check *c, const char *format, ...);

/* `bytes` of memory in `slot`, with canaries on the sides that touch no inaccessible page. */
void *check_place(takt_check *c, int slot, size_t bytes, int where);
/* The same for a kernel's scratch, aligned as contracts promise it, and full of NaN. */
void *check_scratch(takt_check *c, int slot, size_t bytes);
/* Fails the case if anything around the buffer of `slot` was written. */
void check_intact(takt_check *c, int slot);

uint64_t check_random(takt_check *c);
size_t check_below(takt_check *c, size_t limit); /* uniform, 0 if limit is 0 */
void check_fill_f32(takt_check *c, float *p, size_t n, int values);
void check_fill_f64(takt_check *c, double *p, size_t n, int values);
void check_fill_bytes(takt_check *c, void *p, size_t bytes);

/* Bit for bit, except that any NaN equals any NaN. They count a case and feed the digest. */
void check_same_f32(takt_check *c, const float *got, const float *want, size_t n);
void check_same_f64(takt_check *c, const double *got, const double *want, size_t n);
void check_same_bytes(takt_check *c, const void *got, const void *want, size_t bytes);

/* The floating-point control state: rounding, flushing of denormals, traps; on x86-64 also whether
 * upper halves of vectors are in use, which they are not afterwards. */
uint64_t check_fp_state(void);
void check_set_fp_state(uint64_t state);

/* A stub that calls `kernel` (of any type) and checks that it preserves the registers that it must;
 * `kernel` itself where there is no such stub, and when it is timed. */
takt_kernel_fn *check_guard(takt_check *c, takt_kernel_fn *kernel);
/* Fails the case if the last guarded call did not preserve them. */
void check_registers(takt_check *c);

/* A call of the kernel under test; fails the case if the FP state or a register that a function
 * must preserve has changed. */
#define CHECK_CALL(c, statement)                                                                   \
    do {                                                                                           \
        const uint64_t check_state_ = check_fp_state();                                            \
        statement;                                                                                 \
        if (check_fp_state() != check_state_) {                                                    \
            check_set_fp_state(check_state_);                                                      \
            check_fail(c, "the floating-point state was changed");                                 \
        }                                                                                          \
        check_registers(c);                                                                        \
    } while (0)

/* Seconds, monotonic. */
double check_now(void);
bool check_goes_on(const takt_check *c, int round, double begin);
void check_report(takt_check *c, const char *what, double seconds, double bytes, double flops);

/* How many of `all` cases to time: none by default, one under --once, and for the scalar variant,
 * which would take minutes for large ones, the first `few`. */
size_t check_timed(const takt_check *c, size_t all, size_t few);

/* Times `statement` if asked to: best of seven rounds of about 5 ms, of fewer where that takes half
 * a second. Short ones are repeated between two readings of the clock, which take 30 ns. `bytes`
 * and `flops` are of one execution; 0 for what does not apply. */
#define CHECK_BENCH(c, what, bytes, flops, statement)                                              \
    do {                                                                                           \
        double check_best_ = 1e30;                                                                 \
        const double begin_ = check_now();                                                         \
        for (int round_ = 0; (c)->bench && check_goes_on(c, round_, begin_); round_++) {           \
            long calls_ = 0, batch_ = 1;                                                           \
            const double from_ = check_now();                                                      \
            double spent_ = 0;                                                                     \
            do {                                                                                   \
                for (long call_ = 0; call_ < batch_; call_++) {                                    \
                    statement;                                                                     \
                }                                                                                  \
                calls_ += batch_;                                                                  \
                spent_ = check_now() - from_;                                                      \
                batch_ = spent_ < 1e-4 && !(c)->once ? 2 * batch_ : batch_;                        \
            } while (!(c)->once && spent_ < 5e-3);                                                 \
            check_best_ =                                                                          \
                spent_ / (double)calls_ < check_best_ ? spent_ / (double)calls_ : check_best_;     \
        }                                                                                          \
        if ((c)->bench)                                                                            \
            check_report(c, what, check_best_, bytes, flops);                                      \
    } while (0)

/* planted.c: kernels broken on purpose, each of which must be caught. Returns how many were not. */
int check_planted(takt_check *c,
                  int (*run)(takt_check *c, check_fn *check, const takt_kernel *reference));

#endif
