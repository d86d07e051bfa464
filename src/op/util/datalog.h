/* datalog.h - rules over sets of tuples: one stratum, to its least fixed point.
 *
 * A relation is a u32[capacity, arity]: its tuples in ascending order, then rows of all ones. The
 * rules are a text, so that a graph with them prints and reads like any other:
 *
 *     2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 1(a, b), 0(b, c)
 *
 * first the arities of the relations that are derived, then those of the inputs; then the rules, in
 * which relations are numbers in that order. Arguments are variables (letters a to z, then a1 ...),
 * numbers, or _. A literal may be negated, !1(a, b), if it is an input, or compare two arguments, a
 * < b. Variables of the head, of negations and of comparisons must occur in some other literal.
 */
#ifndef TAKT_OP_UTIL_DATALOG_H
#define TAKT_OP_UTIL_DATALOG_H

#include "kernel/poll.h"
#include "op/ops.h"
#include "os/pool.h"

enum {
    TAKT_DL_ARITY = 8,
    TAKT_DL_RELATIONS = 32,
    TAKT_DL_BODY = 16,
    TAKT_DL_VARIABLES = 64,
    TAKT_DL_RULES = 256,
    TAKT_DL_INDEXES = 64,
};
#define TAKT_DL_ABSENT UINT32_MAX

typedef struct takt_dl_term {
    enum { TAKT_DL_ANY, TAKT_DL_VARIABLE, TAKT_DL_NUMBER } kind;
    uint32_t value; /* index of the variable, or the number */
} takt_dl_term;

typedef struct takt_dl_literal {
    enum { TAKT_DL_ATOM, TAKT_DL_NOT, TAKT_DL_COMPARE } kind;
    int relation; /* COMPARE: 0 to 5 for = != < <= > >= */
    int count;    /* of terms */
    takt_dl_term term[TAKT_DL_ARITY];
} takt_dl_literal;

typedef struct takt_dl_rule {
    takt_dl_literal head, body[TAKT_DL_BODY];
    int count, variables;
} takt_dl_rule;

typedef struct takt_dl {
    int derived, relations; /* the latter with the inputs */
    int arity[TAKT_DL_RELATIONS];
    takt_dl_rule *rules;
    int rule_count;
    /* Inputs whose rows are known to be sorted before a run, as a bit set over relations; others
     * are checked, and sorted in scratch if necessary. Set by the caller after reading. */
    uint32_t ordered;
} takt_dl;

/* Parses the text into an arena; records TAKT_E_ATTR with the reason on failure. */
TAKT_MUST_USE takt_status takt_dl_read(takt_arena *arena, const char *text, takt_dl *program);

/* ---- running ---- */

/* Values while a rule is joined: those of its variables, then its numbers. */
enum { TAKT_DL_VALUES = TAKT_DL_VARIABLES + (TAKT_DL_BODY + 1) * TAKT_DL_ARITY };

/* Columns of a row, and the value that each is compared with or sets. */
typedef struct takt_dl_slots {
    int count;
    struct {
        uint8_t column, value;
    } at[TAKT_DL_ARITY];
} takt_dl_slots;

/* The literal after a scan is a pair whose `column` the scan binds: pairs with the other column are
 * marked once, and rows of the scan without a mark are skipped. */
typedef struct takt_dl_filter {
    int index; /* of the pairs, by the other column; -1: there is no filter */
    uint8_t value, other, column, scanned; /* `value` of column `other`; of the scanned row */
} takt_dl_filter;

/* One evaluation order of a rule's body: the order of literals, and the index that finds each. */
typedef struct takt_dl_step {
    const takt_dl_literal *literal;
    int index;         /* for the join: rows that agree in the bound columns; -1: all rows */
    bool is_delta;     /* only rows found in the previous round */
    bool is_pair;      /* both columns of an input are known; the index is of the first */
    takt_dl_slots key; /* known values: columns in ascending order */
    takt_dl_slots bind;
    takt_dl_slots same;         /* columns that repeat a variable of the row itself */
    int8_t next[TAKT_DL_ARITY]; /* for the next step's key: columns of this one's row, or -1 */
    takt_dl_filter filter;
} takt_dl_step;

typedef struct takt_dl_path {
    const takt_dl_rule *rule;
    takt_dl_step step[TAKT_DL_BODY];
    int count;
    int cut; /* from here on one match is enough: the head is fully bound */
    takt_dl_slots head;
    int number_count;
    uint32_t number[TAKT_DL_VALUES - TAKT_DL_VARIABLES];
} takt_dl_path;

/* Rows of a relation by some of its columns. */
typedef struct takt_dl_index {
    int relation;
    uint32_t columns; /* a set */
    size_t size;      /* of the table, a power of two */
    bool has_runs;    /* for an input: rows that agree are contiguous */
} takt_dl_index;

/* Everything that does not depend on values: computed once, before any run. */
typedef struct takt_dl_plan {
    const takt_dl *program;
    size_t capacity[TAKT_DL_RELATIONS];
    takt_dl_path *paths;
    int path_count, first_count; /* the first ones have no derived literal: they run once */
    takt_dl_index index[TAKT_DL_INDEXES];
    int index_count;
    /* A column of the only derived relation that every recursive rule passes on unchanged: tuples
     * derived for one of its values do not depend on others. -1: there is none. */
    int pivot;
    /* The transitive closure of an input. Each of the last two paths derives it: from a pair and
     * the one that follows it, with pivot 0, and from a pair and the one before it, with pivot
     * 1. */
    bool is_closure;
    size_t workers;    /* threads with separate scratch; 1: rounds are not shared */
    size_t group_rows; /* with a pivot: rows a worker derives before it passes them on */
    size_t scratch_bytes;
    uint64_t budget; /* rows that joins may try: bounds the time of a run */
} takt_dl_plan;

/* Rows for each iteration that limits.trip_count allows a loop. */
enum { TAKT_DL_ROWS_A_TRIP = 4096 };

/* `threads`: thread count of the pools that runs may use. */
TAKT_MUST_USE takt_status takt_dl_prepare(takt_arena *arena, const takt_dl *program,
                                          const size_t *capacity, size_t threads,
                                          takt_dl_plan *plan);

/* Why a run stopped. */
typedef struct takt_dl_full {
    int relation;    /* the relation that is full; -1: none */
    bool is_spent;   /* more rows were tried than the budget allows, deriving `relation` */
    bool is_stopped; /* the poll requested it; `relation` is arbitrary */
    size_t round;
} takt_dl_full;

/* `in` and `out`: tuples of inputs and of derived relations; `scratch` is plan->scratch_bytes,
 * 64-byte aligned; `poll` may be NULL; `pool` is leased and has at most the plan's threads, or is
 * NULL. The results do not depend on the number of threads. */
takt_dl_full takt_dl_run(const takt_dl_plan *plan, const uint32_t *const *in, uint32_t *const *out,
                         void *scratch, const takt_poll *poll, takt_pool *pool);

/* ---- parts of takt_dl_prepare: datalog_code.c ---- */

/* Index of the value of a term; adds numbers to the path. */
uint8_t takt_dl_value_of(takt_dl_path *path, const takt_dl_term *t);
/* Columns of a step's rows; `bound` has the variables known before. */
void takt_dl_code_step(takt_dl_path *path, takt_dl_step *s, uint64_t bound);
/* The head, and the information of each step about the next. `bound[i]` holds before step i. */
void takt_dl_code_path(takt_dl_path *path, const uint64_t *bound);
/* Whether step `at` can skip rows by marks of the next; fills all of the filter but its index. */
bool takt_dl_code_filter(const takt_dl_plan *plan, takt_dl_path *path, int at);
int takt_dl_pivot(const takt_dl *program);
/* If the program is the transitive closure of an input: two rules that derive it, one from either
 * side. Else the program itself; NULL: no memory. */
const takt_dl *takt_dl_closure(takt_arena *arena, const takt_dl *program);

/* Sorts rows in ascending order. */
enum { TAKT_DL_DIGIT = 11, TAKT_DL_COUNTS = 3 << TAKT_DL_DIGIT };
typedef struct takt_dl_rows {
    uint32_t *rows, *room; /* [count][arity] each */
    uint32_t *counts;      /* TAKT_DL_COUNTS of them */
    size_t count, arity;
    const takt_poll *poll; /* or NULL */
} takt_dl_rows;
/* Sorts by columns first to end - 1, the first is the most significant; stable. False: the poll
 * stopped it. */
bool takt_dl_sort_by(const takt_dl_rows *r, size_t first, size_t end);
bool takt_dl_sort(const takt_dl_rows *r);
/* Whether rows ascend, each of them once, with all empty rows at the end. */
bool takt_dl_ascends(const uint32_t *rows, size_t count, size_t arity);
/* Sorts rows and removes duplicates and empty rows; returns how many are left, or SIZE_MAX: the
 * poll stopped it. */
size_t takt_dl_sort_unique(const takt_dl_rows *r);

/* Attributes of the op: program, capacity, names. The message about a full relation. */
enum { TAKT_DL_PROGRAM, TAKT_DL_CAPACITY, TAKT_DL_NAMES };
enum { TAKT_DL_TEXT = 256 };
const char *takt_dl_full_text(const takt_node *n, const takt_dl_plan *plan,
                              const takt_dl_full *full, char buffer[static TAKT_DL_TEXT]);
takt_error_id takt_dl_full_id(const takt_dl_full *full);

#endif
