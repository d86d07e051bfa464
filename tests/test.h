/* test.h - the whole test framework.
 *
 *     static void adds(void) { EXPECT(1 + 1 == 2, "got %d", 1 + 1); }
 *     TEST_MAIN(adds)
 *
 * A program runs each of its functions, prints what failed and where, and exits with 1 if anything
 * did; TEST_SKIP ends it with 77, which the runner counts as skipped, unless something failed
 * before. Programs start in the root of the repository; the environment gives TAKT_TOOL (the
 * command), TAKT_TEST_TMP (an own, existing folder for files) and TAKT_BUILD_DIR.
 */
#ifndef TAKT_TESTS_TEST_H
#define TAKT_TESTS_TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/ctx.h>

/* Sanitizers make their own system calls and cost time: some checks are meaningless under them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

/* In a cross build, where threads wait for each other a hundred times as long. */
#ifndef TEST_EMULATED
#define TEST_EMULATED 0
#endif

/* One for the program: helpers in other files count too. */
__attribute__((weak)) int test_failures;

/* More than this from one program is not useful. */
enum { TEST_SHOWN = 50, TEST_EXIT_SKIPPED = 77 };

TAKT_PRINTF(5, 6)
static inline bool test_check(bool good, const char *file, int line, const char *what,
                              const char *format, ...)
{
    if (good || ++test_failures > TEST_SHOWN)
        return good;
    va_list args;
    va_start(args, format);
    printf("%s:%d: %s:", file, line, what);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
    va_end(args);
    return good;
}

/* EXPECT(condition) or EXPECT(condition, "format", ...); is the condition's value. */
#define EXPECT(condition, ...)                                                                     \
    test_check((condition), __FILE__, __LINE__, #condition, " " __VA_ARGS__)
/* Both evaluate `call` once; `ctx` may be NULL where a call has none. */
#define EXPECT_OK(ctx, call) EXPECT_STATUS(ctx, call, TAKT_OK)
#define EXPECT_STATUS(ctx, call, want) test_status((ctx), (call), (want), __FILE__, __LINE__, #call)

static inline bool test_status(const takt_ctx *ctx, takt_status got, takt_status want,
                               const char *file, int line, const char *what)
{
    return test_check(got == want, file, line, what, " %s, expected %s: %s", takt_status_name(got),
                      takt_status_name(want), ctx != NULL ? takt_last_error(ctx) : "");
}

/* Numbers or texts: a failure prints both. Arguments are evaluated once. Integers are compared as
 * doubles where one side is a floating-point number, as C does: nothing is truncated. */
#define TEST_COMPARE(kind, type, got, sign, want, what)                                            \
    test_compare_##kind((type)(got), sign, (type)(want), __FILE__, __LINE__, what)
#define TEST_NUMBERS(got, sign, want, what)                                                        \
    _Generic((got), float                                                                          \
             : TEST_COMPARE(f, double, got, sign, want, what), double                              \
             : TEST_COMPARE(f, double, got, sign, want, what), default                             \
             : _Generic((want), float                                                              \
                        : TEST_COMPARE(f, double, got, sign, want, what), double                   \
                        : TEST_COMPARE(f, double, got, sign, want, what), unsigned long            \
                        : TEST_COMPARE(u, unsigned long long, got, sign, want, what), default      \
                        : TEST_COMPARE(i, long long, got, sign, want, what)))
#define EXPECT_EQ(got, want) TEST_NUMBERS(got, "==", want, #got)
/* EXPECT_IS(count, <, most) */
#define EXPECT_IS(got, sign, want) TEST_NUMBERS(got, #sign, want, #got)
/* Of two pointers. */
#define EXPECT_SAME(got, want) test_same((got), (want), __FILE__, __LINE__, #got)
#define EXPECT_TEXT(got, want) test_equal_text((got), (want), __FILE__, __LINE__, #got)

/* Whether the comparison with that sign holds of two numbers. */
#define TEST_HOLDS(got, sign, want)                                                                \
    ((sign)[0] == '='   ? (got) == (want)                                                          \
     : (sign)[0] == '!' ? (got) != (want)                                                          \
     : (sign)[0] == '<' ? ((sign)[1] == '=' ? (got) <= (want) : (got) < (want))                    \
     : (sign)[1] == '=' ? (got) >= (want)                                                          \
                        : (got) > (want))

static inline bool test_compare_i(long long got, const char *sign, long long want, const char *file,
                                  int line, const char *what)
{
    return test_check(TEST_HOLDS(got, sign, want), file, line, what, " got %lld, expected %s %lld",
                      got, sign, want);
}

static inline bool test_compare_u(unsigned long long got, const char *sign, unsigned long long want,
                                  const char *file, int line, const char *what)
{
    return test_check(TEST_HOLDS(got, sign, want), file, line, what, " got %llu, expected %s %llu",
                      got, sign, want);
}

static inline bool test_compare_f(double got, const char *sign, double want, const char *file,
                                  int line, const char *what)
{
    return test_check(TEST_HOLDS(got, sign, want), file, line, what,
                      " got %.17g, expected %s %.17g", got, sign, want);
}

static inline bool test_same(const void *got, const void *want, const char *file, int line,
                             const char *what)
{
    return test_check(got == want, file, line, what, " got %p, expected %p", got, want);
}

static inline bool test_equal_text(const char *got, const char *want, const char *file, int line,
                                   const char *what)
{
    const bool is_same = got != NULL && want != NULL && strcmp(got, want) == 0;
    return test_check(is_same, file, line, what, " got\n%s\nexpected\n%s",
                      got != NULL ? got : "NULL", want != NULL ? want : "NULL");
}

/* An earlier failure is still a failure. */
#define TEST_SKIP(...)                                                                             \
    (printf("skipped: " __VA_ARGS__), putchar('\n'),                                               \
     exit(test_failures > 0 ? EXIT_FAILURE : TEST_EXIT_SKIPPED))

static inline int test_done(void)
{
    if (test_failures > 0)
        printf("%d failed\n", test_failures);
    return test_failures > 0;
}

#define TEST_MAIN(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        static void (*const tests[])(void) = {__VA_ARGS__};                                        \
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)                                  \
            tests[i]();                                                                            \
        return test_done();                                                                        \
    }

#endif
