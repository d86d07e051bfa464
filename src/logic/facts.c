/* facts.c - reads tuples and checks every number and name against its domain. */
#include "logic/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/tensor.h>

#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "logic/lines.h"

enum { MOST_COLUMNS = 16 };

/* Lines per batch: each stage of name lookup runs over all of them before the next. */
enum { LINES = 16 };

/* A line without quotes that has the right number of fields. */
typedef struct waiting {
    uint32_t number;
    takt_span field[TAKT_MAX_RANK + 1];
    uint64_t hash[TAKT_MAX_RANK];
} waiting;

typedef struct reader {
    const takt_facts_of *of;
    takt_fact_table *facts;
    takt_lines lines;
    char mark;     /* between fields */
    int columns;   /* of every line; 0: none read yet */
    char *unquote; /* room for a field without its quotes */
    size_t unquote_bytes;
    waiting wait[LINES];
    int wait_count;
} reader;

static takt_status wrong(const reader *r, const char *format, ...) TAKT_PRINTF(2, 3);
static takt_status wrong(const reader *r, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return takt_fail(r->facts->ctx, TAKT_E_FACTS, "%s:%u: %s", r->lines.file, r->lines.number,
                     text);
}

/* ---- fields ---- */

/* "a ""b""" without its quotes; *end: after the closing one. */
static bool quoted(reader *r, takt_span line, size_t *at, takt_span *field)
{
    size_t length = 0;
    for (size_t i = *at + 1; i < line.length; i++) {
        if (line.at[i] == '"' && (i + 1 == line.length || line.at[i + 1] != '"')) {
            *field = (takt_span){r->unquote, length};
            *at = i + 1;
            return true;
        }
        i += line.at[i] == '"';
        r->unquote[length++] = line.at[i];
    }
    return false;
}

static bool next_field(reader *r, takt_span line, size_t *at, takt_span *field)
{
    if (r->mark == ',' && *at < line.length && line.at[*at] == '"') {
        if (!quoted(r, line, at, field) || (*at < line.length && line.at[*at] != ','))
            return false;
    } else {
        const char *from = line.at + *at;
        const char *end = memchr(from, r->mark, line.length - *at);
        *field = (takt_span){from, end != NULL ? (size_t)(end - from) : line.length - *at};
        *at += field->length;
    }
    ++*at; /* after the separator, or one past the end */
    return true;
}

static uint32_t *place_of(const reader *r, int column)
{
    return &r->facts->tuples[r->facts->count * (size_t)r->of->arity + (size_t)column];
}

static takt_status no_index(const reader *r, takt_span field, int column)
{
    const takt_domain *d = r->of->domains[column];
    char hint[TAKT_DOMAIN_HINT];
    if (takt_utf8_check(field.at, field.length) != field.length)
        return wrong(r, "column %d is not UTF-8", column + 1);
    const int shown = field.length < 64 ? (int)field.length : 64;
    if (d->entries == NULL)
        return wrong(r, "'%.*s' is not a number of domain %s, which has %lld", shown, field.at,
                     d->name, (long long)d->size);
    wrong(r, "'%.*s' is not a name of domain %s", shown, field.at, d->name);
    const char *near = takt_domain_nearest(d, field, hint);
    return near != NULL ? takt_fail_hint(r->facts->ctx, "%s", near) : TAKT_ERR_FORMAT;
}

static takt_status put_index(const reader *r, takt_span field, int column)
{
    if (takt_domain_find(r->of->domains[column], field, place_of(r, column)))
        return TAKT_OK; /* names of domains are UTF-8 */
    return no_index(r, field, column);
}

static takt_status put_weight(const reader *r, takt_span field)
{
    double value;
    const int shown = field.length < 64 ? (int)field.length : 64;
    const bool is_number = takt_number_read(field.at, field.length, &value) && value >= 0;
    if (r->of->is_length ? !is_number || !isfinite(value) : !is_number || value > 1)
        return wrong(r, "the weight '%.*s' is not a number from 0 %s", shown, field.at,
                     r->of->is_length ? "on" : "to 1");
    r->facts->weights[r->facts->count] = value;
    return TAKT_OK;
}

/* ---- lines ---- */

static int count_columns(reader *r, takt_span line)
{
    takt_span field;
    size_t at = 0;
    int count = 0;
    while (at <= line.length && count <= MOST_COLUMNS) {
        if (!next_field(r, line, &at, &field))
            return -1;
        count++;
    }
    return count;
}

static size_t row_bytes(const takt_fact_table *f)
{
    return (f->arity > 0 ? (size_t)f->arity : 1) * sizeof *f->tuples;
}

/* The expected number of facts, if the remaining lines are as long as those so far. Growing an
 * array by copying would need its memory twice. */
static size_t expected(const reader *r)
{
    enum { FEW = 1024, FASTER = 16 };
    const size_t count = r->facts->count;
    if (count < FEW)
        return count + 1;
    const double times = 1.02 * (double)r->lines.text.length / (double)r->lines.at;
    return 1 + (size_t)((double)count * (times < FASTER ? times : FASTER));
}

static takt_status grow(const reader *r)
{
    takt_fact_table *f = r->facts;
    const bool has_weights = r->columns > r->of->arity;
    if (f->count < f->tuple_capacity && (!has_weights || f->count < f->weight_capacity))
        return TAKT_OK;
    void *tuples = f->tuples, *weights = f->weights;
    const size_t need = expected(r);
    takt_status status = takt_mem_grow(f->ctx, &tuples, &f->tuple_capacity, need, row_bytes(f));
    f->tuples = tuples;
    if (status == TAKT_OK && has_weights)
        status = takt_mem_grow(f->ctx, &weights, &f->weight_capacity, need, sizeof *f->weights);
    f->weights = weights;
    return status;
}

/* Room for unquoting: a field is not longer than its line. */
static takt_status reserve(reader *r, takt_span line)
{
    void *room = r->unquote;
    const takt_status status =
        takt_mem_grow(r->facts->ctx, &room, &r->unquote_bytes, line.length + 1, 1);
    r->unquote = room;
    return status;
}

static takt_status add(reader *r, takt_span line)
{
    takt_span field;
    size_t at = 0;
    TAKT_TRY(reserve(r, line));
    const int columns = count_columns(r, line);
    if (columns < 0)
        return wrong(r, "a quoted field does not end");
    if (columns != r->columns)
        return wrong(r, "%s has %d column%s, this line has %d", r->of->name, r->columns,
                     r->columns == 1 ? "" : "s", columns);
    TAKT_TRY(grow(r));
    for (int i = 0; i < columns && next_field(r, line, &at, &field); i++)
        TAKT_TRY(i < r->of->arity ? put_index(r, field, i) : put_weight(r, field));
    r->facts->count++;
    return TAKT_OK;
}

/* ---- pending lines ---- */

static void prefetch(const reader *r, int stage)
{
    for (int i = 0; i < r->wait_count; i++)
        for (int k = 0; k < r->of->arity; k++)
            if (r->of->domains[k]->entries != NULL)
                takt_domain_prefetch(r->of->domains[k], r->wait[i].hash[k], stage);
}

static takt_status add_waiting(reader *r, const waiting *w)
{
    TAKT_TRY(grow(r));
    for (int k = 0; k < r->of->arity; k++) {
        const takt_domain *d = r->of->domains[k];
        const bool is_found =
            d->entries != NULL ? takt_domain_find_hashed(d, w->field[k], w->hash[k], place_of(r, k))
                               : takt_domain_find(d, w->field[k], place_of(r, k));
        if (!is_found)
            return no_index(r, w->field[k], k);
    }
    if (r->columns > r->of->arity)
        TAKT_TRY(put_weight(r, w->field[r->of->arity]));
    r->facts->count++;
    return TAKT_OK;
}

static takt_status flush(reader *r)
{
    const uint32_t number = r->lines.number;
    for (int stage = 0; stage < TAKT_DOMAIN_STAGES; stage++)
        prefetch(r, stage);
    for (int i = 0; i < r->wait_count; i++) {
        r->lines.number = r->wait[i].number;
        TAKT_TRY(add_waiting(r, &r->wait[i]));
    }
    r->lines.number = number;
    r->wait_count = 0;
    return TAKT_OK;
}

/* False: the line has quotes, or another number of fields. */
static bool wait(reader *r, takt_span line)
{
    waiting *w = &r->wait[r->wait_count];
    const char *at = line.at, *end = line.at + line.length;
    w->number = r->lines.number;
    for (int i = 0; i < r->columns; i++) {
        if (at > end || (at < end && *at == '"'))
            return false;
        const char *mark = memchr(at, r->mark, (size_t)(end - at));
        mark = mark != NULL ? mark : end;
        w->field[i] = (takt_span){at, (size_t)(mark - at)};
        if (i < r->of->arity && r->of->domains[i]->entries != NULL)
            w->hash[i] = takt_domain_hash(w->field[i]);
        at = mark + 1;
    }
    r->wait_count += at == end + 1;
    return at == end + 1;
}

/* The first line decides the separator, and whether there are weights. */
static takt_status begin(reader *r, takt_span line)
{
    TAKT_TRY(reserve(r, line));
    r->mark = memchr(line.at, '\t', line.length) != NULL ? '\t' : ',';
    const int columns = count_columns(r, line), arity = r->of->arity;
    r->columns = r->of->may_weigh && columns == arity + 1 ? arity + 1 : arity;
    return TAKT_OK;
}

takt_status takt_facts_read(takt_ctx *ctx, const takt_facts_of *of, const char *file,
                            takt_span text, takt_fact_table *facts)
{
    reader r = {.of = of, .facts = facts, .lines = takt_lines_of(file, text)};
    takt_span line;
    takt_status status = TAKT_OK;
    *facts = (takt_fact_table){.ctx = ctx, .arity = of->arity};
    while (status == TAKT_OK && takt_lines_next(&r.lines, &line)) {
        if (r.columns == 0)
            status = begin(&r, line);
        const bool waits = status == TAKT_OK && wait(&r, line);
        if (status == TAKT_OK && (!waits || r.wait_count == LINES))
            status = flush(&r);
        if (!waits && status == TAKT_OK)
            status = add(&r, line);
    }
    if (status == TAKT_OK)
        status = flush(&r);
    takt_mem_put(ctx, r.unquote, r.unquote_bytes);
    return status;
}

void takt_facts_release(takt_fact_table *f)
{
    takt_mem_put(f->ctx, f->tuples, f->tuple_capacity * row_bytes(f));
    takt_mem_put(f->ctx, f->weights, f->weight_capacity * sizeof *f->weights);
    f->tuples = NULL;
    f->weights = NULL;
}
