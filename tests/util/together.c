/* together.c - takt_tests: every test program, called by its name.
 *
 * The name is that of a link to this program, or the first argument.
 */
#include <stdio.h>
#include <string.h>

#define WITH_ARGUMENTS(name) int test_main_##name(int argc, char **argv);
#define WITHOUT_ARGUMENTS(name) int test_main_##name(void);
#include "tests/together.inc"
#undef WITH_ARGUMENTS
#undef WITHOUT_ARGUMENTS

/* One of the two is set. */
typedef struct program {
    const char *name;
    int (*with_arguments)(int argc, char **argv);
    int (*without_arguments)(void);
} program;

static const program programs[] = {
#define WITH_ARGUMENTS(name) {#name, test_main_##name, NULL},
#define WITHOUT_ARGUMENTS(name) {#name, NULL, test_main_##name},
#include "tests/together.inc"
#undef WITH_ARGUMENTS
#undef WITHOUT_ARGUMENTS
};

enum { PROGRAMS = sizeof programs / sizeof *programs };

static const program *find(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (int i = 0; i < PROGRAMS; i++)
        if (strcmp(programs[i].name, name) == 0)
            return &programs[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const program *called = find(argv[0]);
    if (called == NULL && argc > 1) {
        called = find(argv[1]);
        argc--;
        argv++;
    }
    if (called == NULL) {
        fprintf(stderr, "usage: takt_tests NAME [ARGUMENT...]; NAME is one of\n");
        for (int i = 0; i < PROGRAMS; i++)
            fprintf(stderr, "  %s\n", programs[i].name);
        return 2;
    }
    return called->with_arguments != NULL ? called->with_arguments(argc, argv)
                                          : called->without_arguments();
}
