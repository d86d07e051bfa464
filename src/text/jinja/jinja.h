/* jinja.h - the part of Jinja that chat templates use, run by a bounded interpreter.
 *
 * Templates come from untrusted files. They see only the variables passed to them: no attributes of
 * the host, no files, no other templates. A run ends after 10^6 steps (fewer where the context
 * allows fewer trips of a loop), 1 MiB of output or 64 MiB of values. Blocks are trimmed
 * (trim_blocks, lstrip_blocks), as Hugging Face and llama.cpp do.
 *
 *     text -- lex.c --> tokens -- parse.c, expression.c --> nodes -- run.c, eval.c --> text
 */
#ifndef TAKT_TEXT_JINJA_H
#define TAKT_TEXT_JINJA_H

#include "base/arena.h"
#include "base/json.h"
#include "base/text.h"

enum {
    TAKT_JINJA_STEPS = 1000000,
    TAKT_JINJA_OUTPUT = 1 << 20,
    TAKT_JINJA_VALUES = 1 << 26,
    TAKT_JINJA_DEPTH = 160, /* maximum depth of template nodes and of written values */
    TAKT_JINJA_NESTED = 400 /* nested evaluations of nodes, macros included */
};

/* ---- values ---- */

typedef enum takt_jv_kind {
    TAKT_JV_UNDEFINED,
    TAKT_JV_NONE,
    TAKT_JV_BOOL,
    TAKT_JV_INT,
    TAKT_JV_FLOAT,
    TAKT_JV_TEXT,
    TAKT_JV_LIST, /* and tuples */
    TAKT_JV_DICT, /* and namespaces */
    TAKT_JV_MACRO,
    TAKT_JV_FUNCTION,
} takt_jv_kind;

typedef struct takt_jv takt_jv;
typedef struct takt_jnode takt_jnode;
typedef struct takt_jframe takt_jframe;

typedef struct takt_jv_list {
    takt_jv *at;
    size_t count, capacity;
    bool is_tuple;
} takt_jv_list;

typedef struct takt_jv_dict {
    takt_jv *at; /* key, value, key, value */
    size_t count, capacity;
    bool is_namespace;
} takt_jv_dict;

typedef struct takt_jv_macro {
    const takt_jnode *node;
    takt_jframe *frame; /* in which it was defined */
} takt_jv_macro;

struct takt_jv {
    takt_jv_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double number;
        takt_span text;
        takt_jv_list *list;
        takt_jv_dict *dict;
        const takt_jv_macro *macro;
        const struct takt_jfunction *function;
    };
};

/* ---- tokens ---- */

typedef enum takt_jtoken_kind {
    TAKT_JT_DATA,
    TAKT_JT_PRINT, /* {{ */
    TAKT_JT_PRINT_END,
    TAKT_JT_BLOCK, /* {% */
    TAKT_JT_BLOCK_END,
    TAKT_JT_NAME,
    TAKT_JT_TEXT,
    TAKT_JT_INT,
    TAKT_JT_FLOAT,
    TAKT_JT_SIGN, /* an operator or bracket */
    TAKT_JT_END,
} takt_jtoken_kind;

typedef struct takt_jtoken {
    takt_jtoken_kind kind;
    uint32_t line;
    takt_span text; /* decoded where it is a string */
} takt_jtoken;

/* ---- nodes ---- */

typedef enum takt_jnode_kind {
    /* expressions */
    TAKT_JN_LITERAL,
    TAKT_JN_NAME,
    TAKT_JN_ATTRIBUTE, /* a . text */
    TAKT_JN_INDEX,     /* a [b] */
    TAKT_JN_SLICE,     /* a [b : c : d], each may be NULL */
    TAKT_JN_CALL,      /* a (first ...) */
    TAKT_JN_KEYWORD,   /* text = a, among arguments */
    TAKT_JN_FILTER,    /* a | text (first ...) */
    TAKT_JN_TEST,      /* a is text (first ...) */
    TAKT_JN_NOT,
    TAKT_JN_MINUS,
    TAKT_JN_PLUS,
    TAKT_JN_BINARY,  /* a text b */
    TAKT_JN_COMPARE, /* a text b; further parts of a chain follow as `next` of b's node */
    TAKT_JN_AND,
    TAKT_JN_OR,
    TAKT_JN_CHOICE, /* b if a else c */
    TAKT_JN_LIST,
    TAKT_JN_TUPLE,
    TAKT_JN_DICT, /* key, value, key, value */
    /* statements */
    TAKT_JN_DATA,
    TAKT_JN_PRINT,     /* a */
    TAKT_JN_IF,        /* first: BRANCH ... */
    TAKT_JN_BRANCH,    /* a, NULL for else; first ... */
    TAKT_JN_FOR,       /* a in b if c; first ...; else d */
    TAKT_JN_SET,       /* a = b, or without b the text of first ..., through the filters of c */
    TAKT_JN_MACRO,     /* text (a: PARAMETER ...) first ... */
    TAKT_JN_PARAMETER, /* text = a */
    TAKT_JN_FILTERED,  /* first ... through the filters of c */
    TAKT_JN_GROUP,     /* first ... */
    TAKT_JN_BREAK,
    TAKT_JN_CONTINUE,
} takt_jnode_kind;

struct takt_jnode {
    takt_jnode_kind kind;
    uint32_t line;
    uint32_t depth; /* of the nodes below it, at most TAKT_JINJA_DEPTH */
    takt_span text;
    takt_jv value;
    takt_jnode *a, *b, *c, *d;
    takt_jnode *first, *last; /* children in order */
    takt_jnode *next;
    const void *record; /* of a filter or test */
};

typedef struct takt_jinja {
    takt_ctx *ctx;
    takt_arena arena;
    const char *name; /* for messages */
    takt_jtoken *tokens;
    size_t token_count;
    takt_jnode *root;
    /* while it is parsed */
    size_t at;
    uint32_t nested;
    takt_status status;
} takt_jinja;

/* `name` is copied. */
TAKT_MUST_USE takt_status takt_jinja_parse(takt_jinja *j, takt_ctx *ctx, const char *name,
                                           takt_span text);
void takt_jinja_deinit(takt_jinja *j);
takt_status takt_jinja_lex(takt_jinja *j, takt_span text); /* returns j->status */
/* Adds what to do about a template that cannot be used. */
void takt_jinja_hint(takt_ctx *ctx, takt_error_id id);
/* Records the first failure, with the line. */
void takt_jinja_fail(takt_jinja *j, takt_error_id id, uint32_t line, const char *format, ...)
    TAKT_PRINTF(4, 5);

/* Parsing, shared by parse.c and expression.c. Nodes are never NULL while status is TAKT_OK. */
takt_jnode *takt_jinja_node(takt_jinja *j, takt_jnode_kind kind);
void takt_jinja_child(takt_jinja *j, takt_jnode *parent, takt_jnode *child);
void takt_jinja_deepen(takt_jinja *j, takt_jnode *parent, const takt_jnode *child);
const takt_jtoken *takt_jinja_peek(const takt_jinja *j);
bool takt_jinja_is(const takt_jinja *j, takt_jtoken_kind kind, const char *text);
bool takt_jinja_skip(takt_jinja *j, takt_jtoken_kind kind, const char *text);
void takt_jinja_expect(takt_jinja *j, takt_jtoken_kind kind, const char *text);
bool takt_jinja_enter(takt_jinja *j); /* one level deeper; decrement nested to leave */
takt_jnode *takt_jinja_pair(takt_jinja *j, takt_jnode_kind kind, takt_jnode *a, takt_jnode *b);
/* Expressions that bind tighter than any binary operator. */
takt_jnode *takt_jinja_unary(takt_jinja *j, bool has_filters);
takt_jnode *takt_jinja_expression(takt_jinja *j);
/* Without "if ... else", for the sequence of a loop. */
takt_jnode *takt_jinja_plain(takt_jinja *j);
/* a, b, c: a tuple if there is a comma. */
takt_jnode *takt_jinja_tuple(takt_jinja *j);
/* | name (...) | name ... after `a`. */
takt_jnode *takt_jinja_filters(takt_jinja *j, takt_jnode *a);

/* ---- running ---- */

typedef struct takt_jrun {
    const takt_jinja *j;
    takt_ctx *ctx;
    takt_arena arena;
    takt_text *out;
    uint64_t steps, bytes;
    uint32_t nested, line;
    int leaves;      /* 0, or the kind of node that leaves a loop */
    int64_t seconds; /* since 1970, for strftime_now; negative: unknown */
    takt_status status;
} takt_jrun;

struct takt_jframe {
    takt_jframe *parent;
    takt_span *names;
    takt_jv *values;
    size_t count, capacity;
};

/* Arguments of a call: plain ones, then named ones. */
enum { TAKT_JINJA_ARGS = 16 };
typedef struct takt_jargs {
    takt_jv at[TAKT_JINJA_ARGS];
    takt_span names[TAKT_JINJA_ARGS]; /* of the named ones: length > 0 */
    size_t count, plain;
} takt_jargs;

typedef struct takt_jfunction {
    const char *name;
    takt_jv (*run)(takt_jrun *r, const takt_jargs *args);
} takt_jfunction;

/* A filter gets the value before it as its first argument; so do tests, which return a bool, and
 * methods. */
const takt_jfunction *takt_jinja_filter(takt_span name);
const takt_jfunction *takt_jinja_test(takt_span name);
const takt_jfunction *takt_jinja_function(takt_span name);
/* NULL if values of this kind have no such method. */
const takt_jfunction *takt_jinja_method(takt_jv_kind kind, takt_span name);

typedef struct takt_jextra {
    const char *name;
    takt_jv value;
} takt_jextra;

/* Variables are those of `extra`, which ends with an unnamed one, and then the members of an
 * object. */
TAKT_MUST_USE takt_status takt_jinja_run(const takt_jinja *j, const takt_json *variables,
                                         const takt_jextra *extra, int64_t seconds, takt_text *out);

/* Each counts a step; false once the run has failed. */
bool takt_jinja_step(takt_jrun *r, size_t work);
void takt_jinja_stop(takt_jrun *r, takt_error_id id, const char *format, ...) TAKT_PRINTF(3, 4);
void *takt_jinja_get(takt_jrun *r, size_t count, size_t size);
void takt_jinja_body(takt_jrun *r, takt_jframe *frame, const takt_jnode *first);
takt_jv takt_jinja_eval(takt_jrun *r, takt_jframe *frame, const takt_jnode *n);
takt_jv takt_jinja_call(takt_jrun *r, takt_jv callee, const takt_jargs *args);
takt_jv takt_jinja_filtered(takt_jrun *r, takt_jframe *frame, const takt_jnode *n, takt_jv value);
takt_jv takt_jinja_binary(takt_jrun *r, takt_span sign, takt_jv a, takt_jv b);
takt_jv takt_jinja_index(takt_jrun *r, takt_jv a, takt_jv key);
takt_jv takt_jinja_slice(takt_jrun *r, takt_jv a, const takt_jv bounds[3]);
bool takt_jinja_compare(takt_jrun *r, takt_span sign, takt_jv a, takt_jv b);
void takt_jinja_assign(takt_jrun *r, takt_jframe *frame, const takt_jnode *target, takt_jv value);
void takt_jframe_set(takt_jrun *r, takt_jframe *frame, takt_span name, takt_jv value);

/* The argument at this position or with this name, or `fallback`. */
takt_jv takt_jarg(const takt_jargs *args, size_t index, const char *name, takt_jv fallback);
bool takt_jarg_has(const takt_jargs *args, size_t index, const char *name);

/* ---- values ---- */

takt_jv takt_jv_none(void);
takt_jv takt_jv_undefined(void);
takt_jv takt_jv_bool(bool b);
takt_jv takt_jv_int(int64_t i);
takt_jv takt_jv_float(double f);
takt_jv takt_jv_span(takt_span text);
takt_jv takt_jv_word(const char *text);
takt_jv takt_jv_copy(takt_jrun *r, const char *at, size_t length);
takt_jv takt_jv_list_new(takt_jrun *r, size_t room);
takt_jv takt_jv_dict_new(takt_jrun *r, size_t room);
void takt_jv_add(takt_jrun *r, takt_jv list, takt_jv item);
void takt_jv_put(takt_jrun *r, takt_jv dict, takt_jv key, takt_jv value);
/* NULL if there is none. */
const takt_jv *takt_jv_find(takt_jrun *r, takt_jv dict, takt_jv key);
const takt_jv *takt_jv_named(takt_jrun *r, takt_jv dict, const char *key);
bool takt_jv_truth(takt_jv v);
bool takt_jv_same(takt_jrun *r, takt_jv a, takt_jv b);
/* < 0, 0, > 0; fails for kinds that have no order. */
int takt_jv_order(takt_jrun *r, takt_jv a, takt_jv b);
/* Position of `what`, from `from` on; SIZE_MAX: not found. */
size_t takt_jv_search(takt_jrun *r, takt_span in, takt_span what, size_t from);
const char *takt_jv_kind_name(takt_jv v);
bool takt_jv_is_number(takt_jv v); /* bool included */
double takt_jv_double(takt_jv v);
int64_t takt_jv_integer(takt_jrun *r, takt_jv v); /* fails for other kinds */
/* As Python's str(); `quoted`: as repr(). Fails past the output limit. */
void takt_jv_write(takt_jrun *r, takt_text *to, takt_jv v, bool quoted);
takt_jv takt_jv_to_text(takt_jrun *r, takt_jv v);
typedef struct takt_jv_json {
    int64_t indent;         /* negative: one line */
    takt_span comma, colon; /* between items, and behind keys */
    bool sorts, is_ascii;   /* sorts: keys; is_ascii: other characters as \\uXXXX */
    uint32_t level;         /* 0 */
} takt_jv_json;
void takt_jv_write_json(takt_jrun *r, takt_text *to, takt_jv v, takt_jv_json style);
takt_jv takt_jv_from_json(takt_jrun *r, const takt_json *from);
/* The items of a list, the keys of a dictionary, the characters of a text, as a list. */
takt_jv takt_jv_items(takt_jrun *r, takt_jv v);
/* Text gathered in memory of the context, as a value; `text` is freed. */
takt_jv takt_jv_gathered(takt_jrun *r, takt_text *text);

#endif
