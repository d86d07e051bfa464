/* graph.h - a graph says what is computed.
 *
 * An array of nodes in execution order: inputs have smaller ids. Nodes are immutable and
 * hash-consed on append, so common subexpressions disappear by construction; nothing is edited,
 * so there is no use-list to maintain and nothing dangles. A pass reads one graph and writes
 * another; dead nodes are simply not copied.
 *
 * Building is sticky: after the first failure appends return TAKT_NONE and the graph remembers its
 * status, so code that builds fifty nodes checks once.
 */
#ifndef TAKT_IR_GRAPH_H
#define TAKT_IR_GRAPH_H

#include "base/arena.h"
#include "base/inner.h"
#include "ir/op.h"

/* Where a node comes from, for messages: a name in the source, or a line of it. Chains merge when
 * nodes do. */
typedef struct takt_origin {
    const char *name;
    const char *layer; /* the layer that was called under that name, or NULL */
    int line;
    const struct takt_origin *next;
} takt_origin;

enum { TAKT_MAX_ORIGINS = 16 };

struct takt_node {
    const takt_op *op;
    uint32_t in_count, out_count;
    const takt_id *in;     /* TAKT_NONE: an optional input left out */
    const takt_attr *attr; /* one per definition in the record */
    const takt_type *type; /* out_count of them */
    const char *name;      /* for printing; NULL if it has none */
    const takt_origin *origin;
    uint64_t hash;
};

/* How a slot gets its first value. */
typedef enum takt_init_kind {
    TAKT_INIT_CONSTANT, /* a everywhere */
    TAKT_INIT_UNIFORM,  /* a .. b */
    TAKT_INIT_NORMAL,   /* mean a, standard deviation b */
    TAKT_INIT_TENSOR,
} takt_init_kind;

typedef struct takt_init {
    takt_init_kind kind;
    double a, b;
    uint32_t stream; /* of the random generator */
    const takt_tensor *tensor;
} takt_init;

/* State: parameters (next == TAKT_NONE), optimiser slots, stream buffers, caches, statistics. */
typedef struct takt_slot {
    const char *name;
    takt_type type;
    takt_init init;
    takt_id value; /* the `state` node that reads it */
    takt_id next;  /* its value after the run, or TAKT_NONE */
    bool is_trainable;
} takt_slot;

typedef struct takt_port {
    const char *name;
    takt_id id;
} takt_port;

/* A clause that every run must satisfy: all elements of a bool value. */
typedef struct takt_check {
    const char *text;    /* the condition as written */
    const char *message; /* the author's sentence, or NULL */
    int line;
    bool is_require; /* about inputs: the caller of the model must satisfy it */
    takt_id id;
} takt_check;

struct takt_graph {
    takt_ctx *ctx;
    takt_arena arena;
    takt_dims *dims;
    const char *name;
    const char *doc;                        /* its purpose, in the author's words; or NULL */
    const char *backend;                    /* set by the author; or NULL */
    const struct takt_relations *relations; /* of rules (logic/relation.h); copies have none */
    takt_status status;                     /* sticky */
    takt_node *nodes;
    size_t count, capacity;
    takt_id *table; /* open addressing over hashes */
    size_t table_size;
    takt_port *inputs, *outputs;
    size_t input_count, input_capacity, output_count, output_capacity;
    takt_slot *slots;
    size_t slot_count, slot_capacity;
    takt_check *checks;
    size_t check_count, check_capacity;
    uint64_t *edges; /* open addressing over the names of the three (edge_index.h) */
    size_t edge_size;
    const takt_tensor **tensors; /* held references of constants and initial values */
    size_t tensor_count, tensor_capacity;
    takt_graph **children; /* subgraphs, shared by reference count */
    size_t child_count, child_capacity;
    uint32_t references;
    int depth;                 /* of subgraph nesting below this graph */
    const takt_origin *origin; /* given to nodes appended from now on */
    const char *next_name;     /* given to the next new node */
    uint32_t streams;          /* random streams handed out */
    bool keeps_equals;         /* do not merge equal nodes: the pass `cse` is off */
    bool keeps_apart;          /* the node being appended is never merged */
    uint64_t counted;          /* its memory has been counted in this tick (held.h) */
};

/* `like`: a graph whose dimension table is shared, or NULL for a new one. */
TAKT_MUST_USE takt_status takt_graph_create(takt_ctx *ctx, const takt_graph *like, takt_graph **g);
void takt_graph_retain(takt_graph *g);
TAKT_INNER void takt_graph_destroy(takt_graph *g); /* drops one reference; accepts NULL */

/* ---- building ---- */

/* `attrs`: one per definition in the record, entries with is_set false take the fallback; NULL for
 * all fallbacks. Everything is copied. Returns the id, an existing one if the node exists. */
takt_id takt_graph_append(takt_graph *g, const takt_op *op, size_t in_count, const takt_id *in,
                          const takt_attr *attrs);

/* Attributes by name, for code outside the op's own file. */
typedef struct takt_named_attr {
    const char *name;
    takt_attr value;
} takt_named_attr;
takt_id takt_graph_call(takt_graph *g, const takt_op *op, size_t in_count, const takt_id *in,
                        size_t attr_count, const takt_named_attr *attrs);

takt_id takt_graph_input(takt_graph *g, const char *name, const takt_type *type);
/* Keeps a reference to the storage. */
takt_id takt_graph_constant(takt_graph *g, const takt_tensor *tensor);
/* As a separate node, never merged with an equal one: its value may be replaced. */
takt_id takt_graph_constant_apart(takt_graph *g, const takt_tensor *tensor);
/* Declares state and returns the node that reads it. */
takt_id takt_graph_slot(takt_graph *g, const char *name, const takt_type *type,
                        const takt_init *init, bool is_trainable);
void takt_graph_set_next(takt_graph *g, const char *slot, takt_id value);
void takt_graph_output(takt_graph *g, const char *name, takt_id id);
/* Adds a clause; `check.id` is a bool value. Texts are copied. */
void takt_graph_check(takt_graph *g, takt_check check);
/* Result `index` of a node with several. */
takt_id takt_graph_get(takt_graph *g, takt_id node, size_t index);
/* A stream number for a random node, unique in this graph. */
uint32_t takt_graph_stream(takt_graph *g);
/* Records a failure in ctx and makes it stick; returns TAKT_NONE. */
takt_id takt_graph_fail(takt_graph *g, takt_status status);
static inline void takt_graph_fail_if(takt_graph *g, takt_status status)
{
    if (status != TAKT_OK)
        takt_graph_fail(g, status);
}

/* Subsequent nodes originate here (copied into the arena; merged if a node exists already). */
void takt_graph_set_origin(takt_graph *g, const char *name, int line);
/* The same for the nodes of a layer call; `layer` is the layer's own name. */
void takt_graph_set_layer(takt_graph *g, const char *name, const char *layer, int line);
/* Subsequent nodes inherit the origin and name of a node of another graph. */
void takt_graph_inherit(takt_graph *g, const takt_node *from);

/* Adds origins to those of a node, up to TAKT_MAX_ORIGINS; their names must live as long as `g`. */
void takt_graph_merge_origin(takt_graph *g, takt_id id, const takt_origin *origins);

/* Keeps a reference until the graph dies; `*held` is a copy in the arena (attr.c uses these). */
TAKT_MUST_USE takt_status takt_graph_hold_tensor(takt_graph *g, const takt_tensor *tensor,
                                                 const takt_tensor **held);
TAKT_MUST_USE takt_status takt_graph_hold_child(takt_graph *g, takt_graph *child);

/* Copying: begin declares the inputs and slots of `from` in the empty graph `to` and fills their
 * entries of `map` (one per node of `from`); end does the same for outputs and next values. */
TAKT_MUST_USE takt_status takt_graph_begin_copy(const takt_graph *from, takt_graph *to,
                                                takt_id *map);
TAKT_MUST_USE takt_status takt_graph_end_copy(const takt_graph *from, takt_graph *to,
                                              const takt_id *map);

/* ---- reading ---- */

static inline const takt_node *takt_node_at(const takt_graph *g, takt_id id)
{
    return &g->nodes[id];
}
/* Also for a node that could not be built, because building is sticky: a scalar. */
static inline const takt_type *takt_type_of(const takt_graph *g, takt_id id)
{
    static const takt_type nothing;
    return id == TAKT_NONE ? &nothing : &g->nodes[id].type[0];
}
takt_slot *takt_graph_find_slot(const takt_graph *g, const char *name);
/* Copies node `n` (its inputs already ids of `to`) unchanged. */
takt_id takt_graph_copy_node(takt_graph *to, const takt_node *n, const takt_id *in);
/* Marks everything that outputs and slots' next values need; `live` has g->count bytes. */
void takt_graph_live(const takt_graph *g, unsigned char *live);
/* Checks all rules of graphs; on a violation TAKT_E_VERIFY with the node. */
TAKT_MUST_USE takt_status takt_graph_verify(const takt_graph *g);
/* Whether the graphs are equal up to node numbering and names of values. */
TAKT_INNER uint64_t takt_graph_digest(const takt_graph *g);

/* ---- text ---- */

/* Constants that the text refers to as ref=N instead of holding them. */
typedef struct takt_weights {
    takt_ctx *ctx;
    takt_tensor *at;    /* borrowed from the graph */
    const char **names; /* as the text writes them, in `arena` */
    takt_arena arena;
    size_t count, capacity, name_capacity;
    const takt_tensor *slots; /* initial values to use instead of the slots' own, or NULL */
} takt_weights;

typedef struct takt_print_options {
    bool elide;               /* shorten large constants for people: cannot be read back */
    bool types;               /* add the type of every value as a comment */
    bool origins;             /* add origins as comments */
    takt_weights *weights;    /* receives all but the smallest constants, if given */
    const takt_tensor *slots; /* as takt_weights.slots, for a text that holds everything */
} takt_print_options;
/* The text form; takt_parse (lang/) reads it back. */
TAKT_INNER void takt_graph_print(const takt_graph *g, const takt_print_options *options,
                                 takt_text *text);

#endif
