/* proof.h - the parts of a proof. */
#ifndef TAKT_API_LOGIC_PROOF_H
#define TAKT_API_LOGIC_PROOF_H

#include "api/logic/logic.h"
#include "logic/prove.h"

struct takt_derivation {
    const takt_model *model;
    takt_proof_tree tree;
};

#endif
