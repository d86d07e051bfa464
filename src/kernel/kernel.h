/* kernel.h - how kernels are registered, and how one is chosen.
 *
 * A family is a folder with a contract header: a function type and what it guarantees. A variant is
 * a file `<family>_<isa>[_<note>].c` in it. The build reads only the file name, which gives the
 * compiler flags (cmake/isa.cmake), the required CPU features, and the registration. Adding a
 * variant touches one file.
 *
 * Kernels never allocate, fail, keep state, or read one byte outside their operands.
 */
#ifndef TAKT_KERNEL_KERNEL_H
#define TAKT_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/isa.h"

typedef void takt_kernel_fn(void);

typedef struct takt_kernel {
    const char *name; /* "neon_6x16": unique in its family */
    int rank;         /* the highest that runs here is chosen */
    takt_kernel_fn *run;
    const void *info; /* facts of the family's own type, such as tile sizes; or NULL */
} takt_kernel;

/* One variant file. */
typedef struct takt_kernel_unit {
    const char *family;
    takt_isa isa;
    const takt_kernel *kernels;
    size_t count;
} takt_kernel_unit;

/* In a contract header: names the function type of the family. */
#define TAKT_KERNEL_FAMILY(family, type)                                                           \
    typedef type takt_family_##family##_fn;                                                        \
    static inline type *takt_kernel_as_##family(const takt_kernel *k)                              \
    {                                                                                              \
        return (type *)k->run;                                                                     \
    }

#define TAKT_JOIN_(a, b) a##b
#define TAKT_JOIN(a, b) TAKT_JOIN_(a, b)

/* In a variant file: TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "neon_6x16", 20, run, &info)).
 * The conditional makes the compiler compare `fn` with the family's type.
 * The build defines TAKT_UNIT_STEM (rowsum_f32_neon) and TAKT_UNIT_ISA (neon). */
#define TAKT_KERNEL(family, name, rank, fn, info)                                                  \
    {                                                                                              \
        name, rank, (takt_kernel_fn *)(1 ? (fn) : (takt_family_##family##_fn *)0), info            \
    }
#define TAKT_KERNELS(family, ...)                                                                  \
    static const takt_kernel kernels_of_unit[] = {__VA_ARGS__};                                    \
    extern const takt_kernel_unit TAKT_JOIN(takt_unit_, TAKT_UNIT_STEM);                           \
    const takt_kernel_unit TAKT_JOIN(takt_unit_, TAKT_UNIT_STEM) = {                               \
        #family, TAKT_JOIN(TAKT_ISA_, TAKT_UNIT_ISA), kernels_of_unit,                             \
        sizeof kernels_of_unit / sizeof *kernels_of_unit}

extern const takt_kernel_unit *const takt_kernel_units[];
extern const size_t takt_kernel_unit_count;

/* Why a kernel was or was not taken: the sentence is static text. */
typedef struct takt_kernel_choice {
    const takt_kernel *kernel;
    const takt_kernel_unit *unit;
    const char *refused; /* NULL: this one was chosen */
} takt_kernel_choice;

/* The best kernel of `family` that runs under `isas` (a set, see isa.h); NULL if there is none,
 * which for a family with a scalar variant cannot happen. `choices`, when not NULL, receives up to
 * `capacity` rows, one per candidate, and `*count` their number. */
const takt_kernel *takt_kernel_find(const char *family, takt_isa_set isas,
                                    takt_kernel_choice *choices, size_t capacity, size_t *count);

#endif
