/* recognise.h - between the files of the pass that puts composites in place of their parts.
 *
 * Patterns are matched in the graph as the sweep found it, `r->in`, from their last node up. A
 * matcher answers NULL if the node ends the pattern, "" if nothing like it is there, else what is
 * in the way; `takt explain --missed` shows that.
 */
#ifndef TAKT_PASS_RECOGNISE_H
#define TAKT_PASS_RECOGNISE_H

#include "pass/match.h"

/* A number that constants alone decide, through a few nodes. */
bool takt_known_scalar(const takt_graph *g, takt_id id, double *value);
/* A node of `op` at `id`, or NULL. */
const takt_node *takt_known_op(const takt_graph *g, takt_id id, const takt_op *op);
/* The operand of a product or quotient with a known number, which `*scale` is multiplied by, or of
 * a sum with zero. */
bool takt_known_scaled(const takt_graph *g, takt_id id, takt_id *x, double *scale);
/* Equal up to the rounding of constants in files. */
bool takt_is_close(double a, double b);

typedef struct takt_gate {
    const takt_op *op; /* gelu, hard_swish or silu */
    bool is_tanh;
    takt_id x;
} takt_gate;

typedef struct takt_normed {
    bool is_centred;
    takt_id x, gamma, beta; /* gamma, beta: TAKT_NONE if the pattern has none */
    double epsilon;
    bool is_channels; /* normalised over axis 1, else over the last */
    bool is_grouped;  /* x is [batch, ..., groups, channels], normalised over all but these two */
} takt_normed;

enum { TAKT_ATTENDED_Q, TAKT_ATTENDED_K, TAKT_ATTENDED_V };
enum { TAKT_ATTENDED_TERMS = 3 };

/* What is added to scores, times a number. */
typedef struct takt_term {
    takt_id mask, sum; /* sum: the addition, whose axes may be those of the scores reshaped */
    double factor;
} takt_term;

typedef struct takt_attended {
    takt_id part[3], mask;               /* as the products read them; mask TAKT_NONE: none */
    takt_id chosen;                      /* the condition of a select among scores; or TAKT_NONE */
    takt_term term[TAKT_ATTENDED_TERMS]; /* if there is no such mask: several, or other axes */
    size_t terms;
    takt_id gain;          /* of the queries: a number for each head; or TAKT_NONE */
    takt_id windows;       /* [1, windows, 1, rows, keys], added to the mask; or TAKT_NONE */
    takt_dim images;       /* that have these windows */
    takt_id soft;          /* the softmax, whose axes a mask has */
    bool is_transposed[3]; /* q, k, v are [..., dim, rows] */
    bool is_turned;        /* so is the result */
    bool is_zeroed;        /* rows that are not numbers become zeros */
    bool is_less;          /* the mask is subtracted */
    bool is_hidden;        /* the mask is 1 where a score is hidden, else 0 */
    bool is_kept;          /* where the condition is true a score is kept, else the others */
    bool is_inner;         /* the mask is added to what is selected, else selected with it */
    double hidden;         /* what the select has for other scores */
    double scale;
} takt_attended;

/* Rows that heads were split from. */
typedef struct takt_heads {
    takt_id from; /* [batch, rows, heads, dim], with an axis of 1 somewhere or without */
    int64_t slot; /* -1; else [batch, rows, slots, heads, dim], of which this is the slot */
    takt_dim batch, rows, heads, dim;
} takt_heads;

/* The rows of `id`, which is [batch, heads, rows, dim], perhaps with the first two axes merged or
 * the last two swapped. */
bool takt_find_heads(const takt_graph *g, takt_id id, bool is_transposed, takt_heads *found);
/* The whole row, [batch, rows, heads * dim]. */
takt_id takt_make_rows(takt_rewrite *r, const takt_heads *h);

typedef struct takt_grouped {
    takt_id x, gamma, beta; /* one for each channel */
    takt_dim groups;
    double epsilon;
} takt_grouped;

typedef struct takt_rotated {
    takt_id x, cosine, sine;
    takt_dim half;
    bool is_doubled; /* cosines and sines are there twice: for both of a pair */
    bool is_paired;  /* pairs are neighbours, else an element of each half */
} takt_rotated;

typedef struct takt_uses {
    const takt_graph *g;
    const uint32_t *of; /* per node */
} takt_uses;

static inline takt_uses takt_uses_of(const takt_rewrite *r)
{
    return (takt_uses){r->in, r->uses};
}

/* TAKT_NONE, with `why` noted unless it is "". */
takt_id takt_missed(takt_rewrite *r, const takt_node *n, const char *why);

const char *takt_match_gate(takt_uses u, takt_id root, takt_gate *found);
const char *takt_match_norm(takt_uses u, takt_id root, takt_normed *found);
const char *takt_match_group(takt_uses u, takt_id root, takt_grouped *found);
const char *takt_match_rotary(takt_uses u, takt_id root, takt_rotated *found);
const char *takt_match_attention(takt_uses u, takt_id root, takt_attended *found);
/* The product that scores are made of by sums, factors and reshapes; or NULL. */
const takt_node *takt_find_scores(takt_uses u, takt_id scores, takt_attended *found);
/* The sum of all terms with the axes of the softmax. */
takt_id takt_make_terms(takt_rewrite *r, const takt_attended *a);
/* What the attention becomes: a node of r->out with the root's type, or TAKT_NONE with `*why`. */
takt_id takt_make_attention(takt_rewrite *r, const takt_attended *a, const char **why);

/* Rules of normalisation. */
takt_id takt_rule_norm(takt_rewrite *r, const takt_node *n);
takt_id takt_rule_scaled_layer(takt_rewrite *r, const takt_node *n);
takt_id takt_rule_scaled_rms(takt_rewrite *r, const takt_node *n);
takt_id takt_rule_shifted_norm(takt_rewrite *r, const takt_node *n);
takt_id takt_rule_group(takt_rewrite *r, const takt_node *n);

/* A picture cut into square blocks, whose elements lie side by side as channels. */
typedef struct takt_blocks {
    takt_id x;
    int64_t block;        /* rows and columns of a block */
    bool is_last;         /* channels are the last axis */
    bool is_column_first; /* phases in the order of columns */
} takt_blocks;
const char *takt_match_blocks(takt_uses u, takt_id root, takt_blocks *found);
takt_id takt_make_blocks(takt_rewrite *r, const takt_blocks *b);

#endif
