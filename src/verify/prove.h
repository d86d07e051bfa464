/* prove.h - the parts of takt_model_verify. */
#ifndef TAKT_VERIFY_PROVE_H
#define TAKT_VERIFY_PROVE_H

#include <takt/session.h>
#include <takt/verify.h>

#include "verify/search.h"

typedef struct takt_prover {
    takt_ctx *ctx;
    const takt_model *model;
    takt_verify_options o;
    takt_method method;
    bool is_real;
    takt_graph *graph;
    takt_net net;
    takt_property given, proved; /* `proved` has boxes that hold every f32 nearest to a point */
    bool has_given;
    takt_plan *plan;
    takt_session *session;
    takt_pool *pool;
    takt_search search;
    bool has_search;
    double seconds;
    size_t chosen;  /* around an input: the greatest output */
    char note[240]; /* about the certificate */
} takt_prover;

TAKT_MUST_USE takt_status takt_prover_run(takt_prover *v);
void takt_prover_deinit(takt_prover *v);
/* The property that the greatest output stays the greatest around an input. */
TAKT_MUST_USE takt_status takt_prover_around(takt_prover *v);
/* Runs the model on x, which holds all inputs, concatenated. */
TAKT_MUST_USE takt_status takt_prover_outputs(takt_prover *v, const double *x, double *y);
/* Writes a certificate of a proof, if one is requested. */
TAKT_MUST_USE takt_status takt_prover_certify(takt_prover *v);
/* Instead of searching: checks that the certificate in the options proves the property; the error
 * message has the reason if it does not. */
TAKT_MUST_USE takt_status takt_prover_check(takt_prover *v);
/* Files that the options request: the counterexample, the result of a contest. */
TAKT_MUST_USE takt_status takt_prover_files(takt_prover *v);

#endif
