"""samplers.py - every sampler against its formula in plain Python."""
import math
import sys

from _chain import check, text_of

TEXTS = ["<unk>", "<s>", "</s>", " ", " a", " b", "a", "b", "c", " c", "."]  # of tiny.gguf


def shares(scores):
    most = max(scores.values())
    powers = {k: math.exp(v - most) for k, v in scores.items()}
    return {k: v / sum(powers.values()) for k, v in powers.items()}


def best_first(scores):
    return sorted(scores, key=lambda k: (-scores[k], k))


def entropy_of(p):
    return -sum(x * math.log(x) for x in p.values() if x > 0)


def temperature(scores, s, _history, _breakers):
    t, r = s["temperature"], s.get("dynatemp_range", 0)
    if r > 0 and len(scores) > 1:
        part = entropy_of(shares(scores)) / math.log(len(scores))
        t = max(0, t - r) + (t + r - max(0, t - r)) * part ** s["dynatemp_exponent"]
    return {k: v / t for k, v in scores.items()}


def top_n_sigma(scores, s, _history, _breakers):
    mean = sum(scores.values()) / len(scores)
    sigma = math.sqrt(sum((v - mean) ** 2 for v in scores.values()) / len(scores))
    return {k: v for k, v in scores.items() if v >= max(scores.values()) - s["top_n_sigma"] * sigma}


def top_k(scores, s, _history, _breakers):
    return {k: scores[k] for k in best_first(scores)[:s["top_k"]]}


def until(order, p, reach):
    kept, total = [], 0.0
    for k in order:
        kept.append(k)
        total += p[k]
        if total >= reach:
            break
    return kept


def top_p(scores, s, _history, _breakers):
    return {k: scores[k] for k in until(best_first(scores), shares(scores), s["top_p"])}


def min_p(scores, s, _history, _breakers):
    p = shares(scores)
    return {k: v for k, v in scores.items() if p[k] >= s["min_p"] * max(p.values())}


def typ_p(scores, s, _history, _breakers):
    p = shares(scores)
    mean = entropy_of(p)
    order = sorted(p, key=lambda k: abs(-math.log(p[k]) - mean))
    return {k: scores[k] for k in until(order, p, s["typical_p"])}


def xtc(scores, s, _history, _breakers):
    p = shares(scores)
    top = [k for k in best_first(scores) if p[k] >= s["xtc_threshold"]]
    return {k: v for k, v in scores.items() if k not in top[:-1]}


def penalties(scores, s, history, _breakers):
    seen = history[-s["repeat_last_n"]:]
    out = dict(scores)
    for k in set(seen) & set(out):
        v = out[k]
        v = v * s["repeat_penalty"] if v <= 0 else v / s["repeat_penalty"]
        out[k] = v - seen.count(k) * s.get("frequency_penalty", 0) - s.get("presence_penalty", 0)
    return out


def dry(scores, s, history, breakers):
    """By definition: for each earlier position, the longest match with the end of the text that
    contains no breaker. Breakers are searched in the letters of the last tokens."""
    last = s["dry_penalty_last_n"]
    h = history if last < 0 else history[-last:]
    allowed = s["dry_allowed_length"]
    if len(h) <= allowed:
        return scores
    limit = len(h)
    for left in range(len(h)):
        tail = [TEXTS[i] for i in h[len(h) - 1 - left:]]
        spans = [n for b in breakers for n in range(1, len(tail) + 1)
                 if begins(tail[:n], b)]
        if spans:
            limit = left - (max(spans) - 1)
            break
    longest = {}
    for k in range(1, len(h)):
        n = 0
        while k + n < len(h) and h[-1 - n] == h[-1 - k - n]:
            n += 1
        if min(n, limit) >= allowed:
            longest[h[len(h) - k]] = max(longest.get(h[len(h) - k], 0), min(n, limit))
    out = dict(scores)
    for k, n in longest.items():
        if k in out and limit >= allowed and not any(b in TEXTS[k] for b in breakers):
            out[k] -= s["dry_multiplier"] * s["dry_base"] ** (n - allowed)
    return out


def begins(tail, b):
    """Whether the first token contains the breaker, or ends with a prefix of it that the next
    tokens complete, one letter each as in tiny.gguf (a space belongs to a letter)."""
    if len(tail) == 1:
        return b in tail[0]
    if b in tail[0]:
        return False
    for n in range(1, len(b)):
        if tail[0].endswith(b[:n]) and tokens(b[n:]) == tail[1:]:
            return True
    return False


def tokens(text):
    """The tokens of a text of a, b, c and single spaces; a text gets a space in front."""
    pieces, text = [], " " + text
    while text:
        piece = text[:2] if text[0] == " " and len(text) > 1 and text[1] != " " else text[:1]
        pieces.append(piece)
        text = text[len(piece):]
    return pieces


def formulas(order, s, scores, history, breakers):
    at = dict(enumerate(scores))
    for name in order:
        at = globals()[name](at, s, history, breakers)
    return shares(at)


sys.exit(check(text_of(formulas)))
