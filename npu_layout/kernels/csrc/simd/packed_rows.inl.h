/* The loops of rows of packed pixels, for one way to gather: PICK and how many windows it needs for a vector, KINDS of gathers,
 * TARGET and the names, PACKED. Each step makes VB bytes of the result out of two vectors of pairs. */
#define IN static inline __attribute__((always_inline)) TARGET

IN W PACKED(_blended)(GatherKind kind, const uint8_t *const rows[2], const int32_t *at, V order, const Weights *w, int64_t i,
                      W above, W below, int two) {
    W x = Y(mulhi_epi16)(weighted(PICK(kind, rows[0], at, order), w, i), above);
    if (two) x = PLUS(x, Y(mulhi_epi16)(weighted(PICK(kind, rows[1], at, order), w, i), below));
    return Y(srli_epi16)(PLUS(x, word(2)), 2);
}
IN void PACKED(_rows_of)(GatherKind kind, const uint8_t *const given[2], const uint8_t *const next[2], const Gather *g,
                         const Weights *weights, int above, int below, int64_t n, uint8_t *out, int two) {
    const uint8_t *const rows[2] = {given[0], given[1]}, *const orders = g->order;
    const Weights w = *weights; /* stores of bytes might change what pointers point to */
    const W first = word(above), second = word(below);
    const int32_t *at = g->at;
    RowFetch ahead = {{next[0], next[1]}, at[0]};
    for (int64_t i = 0; i < n; i += VB, at += 2 * PER_VECTOR(kind)) {
        fetch_up_to(&ahead, at[2 * PER_VECTOR(kind) - 1]);
        const W a = PACKED(_blended)(kind, rows, at, whole(orders + 2 * i), &w, 2 * i, first, second, two);
        const int64_t then = 2 * i + VB;
        const W b = PACKED(_blended)(kind, rows, at + PER_VECTOR(kind), whole(orders + then), &w, then, first, second, two);
        put_some(out + i, in_order(Y(packus_epi16)(a, b)), n - i);
    }
}
static TARGET void PACKED(_rows)(const uint8_t *const rows[2], const uint8_t *const next[2], const Gather *g,
                                 const Weights *weights, int above, int below, int64_t n, uint8_t *out) {
#define TWO(kind) PACKED(_rows_of)(kind, rows, next, g, weights, above, below, n, out, 1)
#define FIRST_ROW(kind) PACKED(_rows_of)(kind, rows, next, g, weights, above, 0, n, out, 0)
    if (below) {
        KINDS(TWO);
    } else {
        KINDS(FIRST_ROW);
    }
#undef TWO
#undef FIRST_ROW
}

IN void PACKED(_means_of)(GatherKind kind, const uint8_t *const given[2], const uint8_t *const next_rows[2], const Gather *g,
                          int64_t n, uint8_t *out) {
    const uint8_t *const a = given[0], *const b = given[1], *const orders = g->order;
    const int32_t *at = g->at;
    RowFetch ahead = {{next_rows[0], next_rows[1]}, at[0]};
    for (int64_t i = 0; i < n; i += VB, at += 2 * PER_VECTOR(kind)) {
        const V order = whole(orders + 2 * i), next = whole(orders + 2 * i + VB);
        const int32_t *const then = at + PER_VECTOR(kind);
        fetch_up_to(&ahead, at[2 * PER_VECTOR(kind) - 1]);
        const W x = mean_of((W)PICK(kind, a, at, order), (W)PICK(kind, b, at, order));
        const W z = mean_of((W)PICK(kind, a, then, next), (W)PICK(kind, b, then, next));
        put_some(out + i, in_order(Y(packus_epi16)(x, z)), n - i);
    }
}
static TARGET void PACKED(_means)(const uint8_t *const rows[2], const uint8_t *const next[2], const Gather *g, int64_t n,
                                  uint8_t *out) {
#define MEANS_BY(kind) PACKED(_means_of)(kind, rows, next, g, n, out)
    KINDS(MEANS_BY);
#undef MEANS_BY
}

IN void PACKED(_line_of)(GatherKind kind, const uint8_t *row, const Gather *g, const Weights *weights, int64_t n, int16_t *line) {
    const uint8_t *const orders = g->order;
    const Weights w = *weights;
    const int32_t *at = g->at;
    for (int64_t i = 0; i < n; i += HALF, at += PER_VECTOR(kind))
        put_words(line + i, weighted(PICK(kind, row, at, whole(orders + 2 * i)), &w, 2 * i));
}
static TARGET void PACKED(_line)(const uint8_t *row, const Gather *g, const Weights *weights, int64_t n, int16_t *line) {
#define LINE_BY(kind) PACKED(_line_of)(kind, row, g, weights, n, line)
    KINDS(LINE_BY);
#undef LINE_BY
}

IN void PACKED(_points_of)(GatherKind kind, const uint8_t *row, const Gather *g, int64_t n, uint8_t *out) {
    const uint8_t *const orders = g->order;
    const int32_t *at = g->at;
    for (int64_t i = 0; i < n; i += VB, at += PER_VECTOR(kind))
        put_some(out + i, (W)PICK(kind, row, at, whole(orders + i)), n - i);
}
static TARGET void PACKED(_points)(const uint8_t *row, const Gather *g, int64_t n, uint8_t *out) {
#define POINTS_BY(kind) PACKED(_points_of)(kind, row, g, n, out)
    KINDS(POINTS_BY);
#undef POINTS_BY
}

IN void PACKED(_halves_of)(GatherKind kind, const uint8_t *const given[2], const uint8_t *const next[2], const Gather *g, int64_t n,
                           uint8_t *out) {
    const uint8_t *const a = given[0], *const b = given[1], *const orders = g->order;
    const int32_t *at = g->at;
    RowFetch ahead = {{next[0], next[1]}, at[0]};
    for (int64_t i = 0; i < n; i += VB, at += PER_VECTOR(kind)) {
        const V order = whole(orders + i);
        fetch_up_to(&ahead, at[PER_VECTOR(kind) - 1]);
        put_some(out + i, Y(avg_epu8)((W)PICK(kind, a, at, order), (W)PICK(kind, b, at, order)), n - i);
    }
}
static TARGET void PACKED(_halves)(const uint8_t *const rows[2], const uint8_t *const next[2], const Gather *g, int64_t n,
                                   uint8_t *out) {
#define HALVES_BY(kind) PACKED(_halves_of)(kind, rows, next, g, n, out)
    KINDS(HALVES_BY);
#undef HALVES_BY
}
#undef IN
#undef KINDS
#undef PER_VECTOR
#undef PICK
#undef PACKED
#undef TARGET
