/* region.h - bounds of a net over one box of inputs: intervals, and lines that lead back to it.
 *
 * A row is a sum of elements of one node, bounded from below. Going back through the net, every sum
 * is replaced by what it sums and every function by the line below or above it, whichever keeps the
 * bound, until only inputs are left; the box gives a number then. Each element j that is passed
 * costs |coefficient| * error[j]: the kernel's rounding and that of this arithmetic (docs/
 * guarantees.md). So the bound holds for the bits, although it is computed in f64.
 */
#ifndef TAKT_VERIFY_REGION_H
#define TAKT_VERIFY_REGION_H

#include "verify/net.h"

typedef struct takt_lines {
    double *below[2], *above[2], *below_at, *above_at;
} takt_lines;

struct takt_alpha;
struct takt_products;
struct takt_joint;

typedef struct takt_region {
    const takt_net *net;
    takt_arena arena;
    double **lo, **hi;              /* per node */
    double **error;                 /* per node: maximum error of its value */
    takt_lines *lines;              /* per node; of curves and pairs */
    double **rows;                  /* coefficients per node, [capacity][count] */
    bool *is_touched;               /* per node, by the current rows */
    bool by_intervals;              /* rows end where they begin: intervals alone */
    bool ends_early;                /* rows end at the net's entries: enough for a bound */
    bool *is_open;                  /* per element of one node, for refinements */
    double *best;                   /* per row, for goals */
    double *constants;              /* per row */
    struct takt_alpha *alpha;       /* slopes that are chosen (alpha.h); NULL: the usual lines */
    struct takt_products *products; /* buffers for products in f32; NULL: none is large */
    struct takt_joint *joint;       /* half-spaces together (joint.h); NULL: each alone */
    double **reach;     /* per refined node, [count][inputs]: how far inputs move it; or NULL */
    size_t input_count; /* of a row of reach */
    bool (*is_late)(const void *user); /* ends refinements: intervals remain; NULL: never */
    const void *late_user;
    double *losses; /* per node, for reports */
    double *sizes;  /* magnitudes of the elements of one node */
    double *zeros;  /* as many as a node has elements */
    size_t capacity;
    const double *center; /* inputs are also within `radius` of it in the Euclidean norm; or NULL */
    double radius;
    double own;     /* rounding of this arithmetic, of the magnitudes */
    uint64_t backs; /* rows that went back, for reports */
} takt_region;

enum { TAKT_REGION_ROWS = 64 };

/* `rows` are propagated back at once: TAKT_REGION_ROWS, or fewer where only intervals are
 * needed. */
TAKT_MUST_USE takt_status takt_region_init(const takt_net *net, size_t rows, takt_region *r);
void takt_region_deinit(takt_region *r);

/* Sets the box, of all inputs one after the other. */
void takt_region_box(takt_region *r, const double *lo, const double *hi);
/* Bounds of all nodes by intervals, in order; `refines`: by lines as well, where that pays off.
 */
void takt_region_bound(takt_region *r, bool refines);
/* The same by lines, where r->lo and r->hi of refined nodes hold bounds over a larger box. */
void takt_region_narrow(takt_region *r);
/* Intervals of node `id` from those of its sources, intersected with the existing ones if
 * `keeps`. */
void takt_region_node(takt_region *r, size_t id, bool keeps);
/* Lines of a curve or pair from the bounds of its sources. */
void takt_region_lines(takt_region *r, size_t id, const double *const choice[2]);

/* Propagates rows back from node `id`: r->rows[id] holds `count` of them (at most the capacity),
 * r->constants their constants. Afterwards inputs hold coefficients. */
void takt_region_back(takt_region *r, size_t id, size_t count);
/* The least value of row `row` over the box, after takt_region_back. */
double takt_region_least(const takt_region *r, size_t row);
/* Clears the data of earlier rows; call it before filling r->rows. */
void takt_region_clear(takt_region *r, size_t id, size_t count);

#endif
