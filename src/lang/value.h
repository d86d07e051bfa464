/* value.h - the value of an expression while a model is being built: a tensor of the graph, or
 * something known already (a number, a size, a word, a list). */
#ifndef TAKT_LANG_VALUE_H
#define TAKT_LANG_VALUE_H

#include "ir/graph.h"
#include "lang/symbol.h"

typedef enum takt_value_kind {
    TAKT_V_POISON, /* an error was reported; later uses are silent */
    TAKT_V_INT,
    TAKT_V_BIG, /* an integer above INT64_MAX, for u64 constants */
    TAKT_V_DIM, /* a dimension that is not a number */
    TAKT_V_FLOAT,
    TAKT_V_BOOL,
    TAKT_V_STRING,
    TAKT_V_BYTES, /* hex data: the digits */
    TAKT_V_DTYPE,
    TAKT_V_WORD, /* relu, none, nhwc: a word that is a value of its own */
    TAKT_V_LIST,
    TAKT_V_TYPE,
    TAKT_V_TENSOR,
    TAKT_V_RESULTS, /* a node with several results */
    TAKT_V_TUPLE,   /* the results of a layer that returned several */
    TAKT_V_GRAPH,
} takt_value_kind;

typedef struct takt_value takt_value;
struct takt_value {
    uint8_t kind;
    uint8_t depth;  /* LIST: how deep lists nest in it */
    uint32_t count; /* LIST, TUPLE, RESULTS */
    union {
        int64_t i;
        uint64_t u;
        double f;
        bool b;
        takt_dim dim;
        takt_span text;
        takt_dtype dtype;
        const takt_symbol *word;
        const takt_value *items;
        const takt_type *type;
        takt_id id;
        takt_graph *graph;
    };
};

static inline takt_value takt_value_poison(void)
{
    return (takt_value){.kind = TAKT_V_POISON};
}
static inline takt_value takt_value_int(int64_t i)
{
    return (takt_value){.kind = TAKT_V_INT, .i = i};
}
static inline takt_value takt_value_float(double f)
{
    return (takt_value){.kind = TAKT_V_FLOAT, .f = f};
}
static inline takt_value takt_value_bool(bool b)
{
    return (takt_value){.kind = TAKT_V_BOOL, .b = b};
}
static inline takt_value takt_value_word(const takt_symbol *w)
{
    return (takt_value){.kind = TAKT_V_WORD, .word = w};
}
static inline takt_value takt_value_tensor(takt_id id)
{
    return (takt_value){.kind = id == TAKT_NONE ? TAKT_V_POISON : TAKT_V_TENSOR, .id = id};
}
static inline takt_value takt_value_dim(takt_dim d)
{
    return (takt_value){.kind = takt_dim_is_number(d) ? TAKT_V_INT : TAKT_V_DIM, .dim = d};
}

static inline bool takt_value_is_number(const takt_value *v)
{
    return v->kind == TAKT_V_INT || v->kind == TAKT_V_BIG || v->kind == TAKT_V_FLOAT;
}
/* So its `dim` is valid; a negative number would be read as a dimension's name. */
static inline bool takt_value_is_size(const takt_value *v)
{
    return (v->kind == TAKT_V_INT && v->i >= 0) || v->kind == TAKT_V_DIM;
}
static inline bool takt_value_is_word(const takt_value *v, const char *word)
{
    return v->kind == TAKT_V_WORD &&
           takt_span_is((takt_span){v->word->text, v->word->length}, word);
}
/* An INT, BIG or FLOAT as a double. */
double takt_value_double(const takt_value *v);
/* "a number", "a tensor". */
const char *takt_value_kind_text(const takt_value *v);
/* The value itself for messages, cut to the buffer: "3", "relu", "f32[2]". Returns the buffer. */
enum { TAKT_VALUE_TEXT = 192 };
const char *takt_value_text(const takt_graph *g, const takt_value *v,
                            char buffer[static TAKT_VALUE_TEXT]);

#endif
