/* rulegen.h - random stratified programs of rules, as trees and as texts. */
#ifndef TAKT_TESTS_UTIL_RULEGEN_H
#define TAKT_TESTS_UTIL_RULEGEN_H

#include "util/random_array.h"

enum { FACTS = 3, RULES = 6, PREDICATES = FACTS + RULES, ARITY = 2, NODES = 4096, VARS = 16 };
enum { MOST_SIZE = 70, TEXT = 1 << 16 };

typedef enum kind {
    ATOM,
    COMPARE,
    AND,
    OR,
    NOT,
    IMPLIES,
    IFF,
    EXISTS,
    FORALL,
    AT_LEAST,
    COUNTED /* k <= count v: a */
} kind;

typedef struct node {
    kind kind;
    int predicate, arg[ARITY]; /* ATOM; COMPARE: arg, op in `number` */
    int a, b;                  /* children */
    int var, domain, number;
    bool is_constant; /* the last argument is a constant, `number` */
} node;

typedef struct predicate {
    int arity, domain[ARITY];
    int body;  /* of a rule */
    int group; /* rules of one group use each other */
    unsigned char *now, *next;
} predicate;

typedef struct program {
    takt_random random;
    int size[2];
    predicate p[PREDICATES];
    node nodes[NODES];
    int count, var_count, var_domain[VARS];
    char text[TEXT];
    size_t length;
    bool is_input; /* facts are bound at run time */
} program;

/* Predicates and formulas; facts and memory for tuples are the caller's to bring. */
void rulegen_make(program *p, uint64_t seed);
/* p->text, from the facts collected so far. */
void rulegen_write(program *p);
int rulegen_below(program *p, int limit);

#endif
