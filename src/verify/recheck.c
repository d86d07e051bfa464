/* recheck.c - traverses a certificate's trees and checks that every case holds on every part of its
 * box. */
#include "verify/recheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct walk {
    takt_recheck k;
    size_t at;             /* the next box of the certificate */
    unsigned char *proved; /* [depth][cases] */
    unsigned char *common; /* cases that are proved on all leaves of the tree so far */
    unsigned char *done;   /* cases that a tree has proved */
    takt_recheck_side *sides;
    size_t side_count;
    size_t first, last; /* cases of the current tree, with the same box */
    bool is_bad;
    char *why;
} walk;

static void add_row(takt_sha256 *sha, const takt_halfspace *h)
{
    const double row[3] = {h->bound, (double)h->count, (double)h->is_strict};
    takt_sha256_add(sha, row, sizeof row);
    for (size_t t = 0; t < h->count; t++) {
        const takt_term *m = &h->terms[t];
        const double term[3] = {(double)m->index, (double)m->is_input, m->factor};
        takt_sha256_add(sha, term, sizeof term);
    }
}

void takt_property_digest(const takt_property *p, char digest[TAKT_SHA256_TEXT])
{
    takt_sha256 sha;
    uint8_t bytes[TAKT_SHA256_BYTES];
    takt_sha256_init(&sha);
    for (size_t i = 0; i < p->case_count; i++) {
        const takt_case *c = &p->cases[i];
        const double head[3] = {(double)c->is_empty, (double)c->row_count, (double)p->input_count};
        takt_sha256_add(&sha, head, sizeof head);
        takt_sha256_add(&sha, c->lo, p->input_count * sizeof *c->lo);
        takt_sha256_add(&sha, c->hi, p->input_count * sizeof *c->hi);
        for (size_t k = 0; k < c->row_count; k++)
            add_row(&sha, &c->rows[k]);
    }
    takt_sha256_end(&sha, bytes);
    takt_sha256_text(bytes, digest);
}

static void reject(walk *w, const char *why, size_t number)
{
    if (!w->is_bad)
        snprintf(w->why, 160, "%s (box %zu)", why, number);
    w->is_bad = true;
}

/* ---- cases ---- */

/* Puts a factor at output or input element `index`. */
static void put(takt_recheck *k, const takt_term *t)
{
    const takt_graph *g = k->graph;
    const takt_port *ports = t->is_input ? g->inputs : g->outputs;
    size_t index = t->index;
    for (size_t i = 0; i < (t->is_input ? g->input_count : g->output_count); i++) {
        takt_check_node *c = &k->nodes[ports[i].id];
        if (index < c->count) {
            c->row[index] += t->factor;
            return;
        }
        index -= c->count;
    }
}

/* One unreachable half-space is enough. */
static bool holds(walk *w, const takt_case *c, const takt_cut *cut)
{
    takt_recheck *k = &w->k;
    for (size_t i = 0; i < c->row_count; i++) {
        const takt_halfspace *h = &c->rows[i];
        for (size_t t = 0; t < h->count; t++)
            put(k, &h->terms[t]);
        takt_recheck_beta(k, w->sides, cut);
        const double least = takt_recheck_least(k, (uint32_t)k->graph->count - 1, 0);
        const double gap = least - h->bound - 0x1p-51 * (fabs(least) + fabs(h->bound));
        if (gap > 0)
            return true;
    }
    return false;
}

static void prove(walk *w, const takt_cut *cut, unsigned char *proved, size_t number)
{
    if (cut->proved_count == 0)
        return;
    if (!w->k.is_fresh)
        takt_recheck_bound(&w->k);
    if (!takt_recheck_enter(&w->k, w->sides, w->side_count, cut))
        reject(w, "multipliers or slopes do not fit", number);
    for (size_t i = 0; i < cut->proved_count && !w->is_bad; i++) {
        const uint32_t index = cut->proved[i];
        if (index < w->first || index >= w->last)
            reject(w, "a case of another box", number);
        else if (!holds(w, &w->k.property->cases[index], cut))
            reject(w, "a case does not hold", number);
        else
            proved[index - w->first] = 1;
    }
    takt_recheck_leave(&w->k, w->sides, w->side_count, cut);
}

/* ---- boxes ---- */

static void visit(walk *w, int depth);

/* Both sides of a relu. */
static void visit_relu(walk *w, int depth, const takt_cut *cut, unsigned char *proved)
{
    takt_recheck *k = &w->k;
    const size_t count = k->property->case_count;
    if (cut->input >= k->graph->count || k->nodes[cut->input].kind != TAKT_CHECK_RELU ||
        cut->element >= k->nodes[cut->input].count) {
        reject(w, "a relu is not there", w->at - 1);
        return;
    }
    for (int side = 0; side < 2 && !w->is_bad; side++) {
        memcpy(proved + count, proved, w->last - w->first);
        w->sides[w->side_count++] = (takt_recheck_side){
            .relu = cut->input, .element = cut->element, .sign = side == 0 ? 1 : -1};
        visit(w, depth + 1);
        w->side_count--;
    }
}

static void visit(walk *w, int depth)
{
    takt_recheck *k = &w->k;
    const size_t number = w->at, count = w->last - w->first;
    unsigned char *proved = w->proved + (size_t)depth * k->property->case_count;
    if (number >= k->certificate->count || depth >= TAKT_CERTIFICATE_DEPTH) {
        reject(w, "a box is missing", number);
        return;
    }
    const takt_cut *cut = &k->certificate->cuts[w->at++];
    prove(w, cut, proved, number);
    if (w->is_bad)
        return;
    if (cut->input == UINT32_MAX) {
        for (size_t i = 0; i < count; i++)
            w->common[i] = w->common[i] && proved[i];
        return;
    }
    if (cut->is_relu) {
        visit_relu(w, depth, cut, proved);
        return;
    }
    if (cut->input >= k->input_count || !(cut->at >= k->lo[cut->input]) ||
        !(cut->at <= k->hi[cut->input])) {
        reject(w, "a split is outside its box", number);
        return;
    }
    const double lo = k->lo[cut->input], hi = k->hi[cut->input];
    memcpy(proved + k->property->case_count, proved, count);
    k->hi[cut->input] = cut->at;
    k->is_fresh = false;
    visit(w, depth + 1);
    k->hi[cut->input] = hi;
    memcpy(proved + k->property->case_count, proved, count);
    k->lo[cut->input] = cut->at;
    k->is_fresh = false;
    if (!w->is_bad)
        visit(w, depth + 1);
    k->lo[cut->input] = lo;
    k->is_fresh = false;
}

/* This box contains every f32 that is nearest to a point of the box. */
static void begin(walk *w)
{
    takt_recheck *k = &w->k;
    const takt_case *c = &k->property->cases[w->first];
    for (size_t i = 0; i < k->input_count; i++) {
        k->lo[i] = c->lo[i];
        k->hi[i] = c->hi[i];
        if (!k->is_real) {
            k->lo[i] = fmin(k->lo[i], (double)(float)k->lo[i]);
            k->hi[i] = fmax(k->hi[i], (double)(float)k->hi[i]);
        }
    }
    k->is_fresh = false;
}

/* Trees of one box, until each of its cases is proved by one of them. */
static void box(walk *w)
{
    const size_t count = w->last - w->first;
    begin(w);
    for (size_t i = 0; i < count; i++)
        w->done[i] = w->k.property->cases[w->first + i].is_empty;
    while (!w->is_bad && memchr(w->done, 0, count) != NULL) {
        if (w->at >= w->k.certificate->count) {
            reject(w, "a case is not proved", w->at);
            return;
        }
        memset(w->proved, 0, count);
        memset(w->common, 1, count);
        visit(w, 0);
        for (size_t i = 0; i < count && !w->is_bad; i++)
            w->done[i] = w->done[i] || w->common[i];
    }
}

static takt_status trees(walk *w)
{
    const takt_property *p = w->k.property;
    for (w->first = 0; w->first < p->case_count && !w->is_bad; w->first = w->last) {
        w->last = w->first + 1;
        if (p->cases[w->first].is_empty)
            continue;
        while (w->last < p->case_count &&
               (p->cases[w->last].is_empty || p->cases[w->last].lo == p->cases[w->first].lo))
            w->last++;
        box(w);
    }
    if (!w->is_bad && w->at != w->k.certificate->count)
        reject(w, "boxes that belong to nothing", w->at);
    return TAKT_OK;
}

static takt_status run(walk *w)
{
    takt_recheck *k = &w->k;
    const takt_certificate *c = k->certificate;
    char digest[TAKT_SHA256_TEXT];
    takt_property_digest(k->property, digest);
    if (takt_graph_digest(k->graph) != c->model)
        return takt_fail(k->ctx, TAKT_E_CERTIFICATE_OTHER,
                         "the certificate belongs to another model, or to other passes");
    if (strcmp(digest, c->property) != 0)
        return takt_fail(k->ctx, TAKT_E_CERTIFICATE_OTHER,
                         "the certificate belongs to another property");
    if (k->property->center != NULL)
        return takt_fail(k->ctx, TAKT_E_VERIFY_MODEL, "the checker does not know norm 2");
    TAKT_TRY(takt_recheck_read(k));
    TAKT_TRY(takt_recheck_keep(k));
    if (k->input_count != k->property->input_count || k->output_count != k->property->output_count)
        return takt_fail(k->ctx, TAKT_E_PROPERTY_COUNT, "the property does not fit the model");
    w->proved = takt_arena_array(&k->arena, (TAKT_CERTIFICATE_DEPTH + 1), k->property->case_count);
    w->common = takt_arena_array(&k->arena, k->property->case_count, 1);
    w->done = takt_arena_array(&k->arena, k->property->case_count, 1);
    w->sides = takt_arena_array(&k->arena, TAKT_CERTIFICATE_DEPTH + 1, sizeof *w->sides);
    if (w->proved == NULL || w->common == NULL || w->done == NULL || w->sides == NULL)
        return TAKT_ERR_MEMORY;
    return trees(w);
}

takt_status takt_recheck_run(const takt_graph *g, const takt_property *p, const takt_certificate *c,
                             bool *is_proved, char why[160], size_t *boxes)
{
    walk w = {.why = why};
    w.k = (takt_recheck){
        .ctx = g->ctx, .graph = g, .property = p, .certificate = c, .is_real = c->is_real};
    takt_arena_init(&w.k.arena, g->ctx);
    why[0] = '\0';
    const takt_status status = run(&w);
    *is_proved = status == TAKT_OK && !w.is_bad;
    *boxes = w.k.boxes;
    takt_recheck_release(&w.k);
    return status;
}
