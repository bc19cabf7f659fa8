/* 2, 3, 4 or 8 neighbouring channels: pixels to planes, planes to pixels, pixels to other pixels. */
/* `mirrored`: a step writes as far from the end of the destination as it reads from the beginning of the source. */
#define EITHER_WAY(function, ...) (mirrored ? function(__VA_ARGS__, 1) : function(__VA_ARGS__, 0))
#define TO (mirrored ? n - STEP - i : i)
INLINE V turned(int size, V v, int mirrored) { return mirrored ? reversed(size, v) : v; }
INLINE int64_t mirrored_lead(int mirrored, int aligns, const uint8_t *dst, int size, int64_t n) {
    if (!mirrored) return lead_of(aligns, dst, size);
    return aligns && (uintptr_t)dst % size == 0 ? (int64_t)((uintptr_t)(dst + n * size) % VB) / size : 0;
}

#ifdef STRUCTURES
#define SPLIT(count, size)                                                                                             \
    INLINE int64_t split##count##_##size(const uint8_t *src, uint8_t *dst, int64_t d, int64_t n, int how, int mirrored) { \
        enum { STEP = 16 / size };                                                                                     \
        if (n < STEP) return 0;                                                                                        \
        const int64_t lead = 0;                                                                                        \
        (void)how;                                                                                                     \
        AT_STEPS {                                                                                                     \
            V x[count];                                                                                                \
            load_planes##count##_##size(src + count * size * i, x);                                                      \
            for (int c = 0; c < count; ++c) put(dst + c * d + TO * size, turned(size, x[c], mirrored));                \
            if (i + STEP >= n) return n;                                                                               \
        }                                                                                                              \
    }
#define MERGE(count, size)                                                                                             \
    INLINE int64_t merge##count##_##size##_of(int64_t present, const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, \
                                              int how, int mirrored) {                                                 \
        enum { STEP = 16 / size };                                                                                     \
        if (n < STEP) return 0;                                                                                        \
        const int64_t lead = 0;                                                                                        \
        (void)how;                                                                                                     \
        AT_STEPS {                                                                                                     \
            V x[count];                                                                                                \
            for (int c = 0; c < count; ++c)                                                                            \
                x[c] = c < present ? turned(size, whole(src + c * s + i * size), mirrored) : (V){0};                   \
            store_pixels##count##_##size(dst + count * size * TO, x);                                                  \
            if (i + STEP >= n) return n;                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE int64_t merge##count##_##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int how, int mirrored) { \
        return merge##count##_##size##_of(count, src, s, dst, n, how, mirrored);                                       \
    }
#define EITHER(count, size) SPLIT(count, size) MERGE(count, size)
EITHER(2, 1)
EITHER(2, 2)
EITHER(2, 4)
EITHER(3, 1)
EITHER(3, 2)
EITHER(3, 4)
EITHER(4, 1)
EITHER(4, 2)
EITHER(4, 4)
#elif SHUFFLES
/* In 3 registers with 16 / size pixels of 3 channels, channel c is in register r at the elements i with
 * (i + r * (16 / size)) % 3 == c: three disjoint sets, so that two blends and one shuffle collect a plane. */
typedef struct {
    V at[3], order[3];
} Thirds;

INLINE Thirds thirds(int size, int inverse) {
    Thirds t;
    for (int c = 0; c < 3; ++c) {
        uint8_t at[16], order[16];
        for (int i = 0; i < 16; ++i) {
            const int e = i / size, n = 16 / size, from = inverse ? (inverse * (e - c + 3 * n)) % n : (3 * e + c) % n;
            at[i] = e % 3 == c ? 0xFF : 0;
            order[i] = (uint8_t)(from * size + i % size);
        }
        t.at[c] = broadcast(at);
        t.order[c] = broadcast(order);
    }
    return t;
}

/* Three registers with consecutive lanes: lane l of register r is piece 3 l + r. */
INLINE void put_thirds(uint8_t *p, const V x[3], int past) {
#if VB == 64
#define LANE_PAIRS(a, b, c, d) \
    _mm512_set_epi64(2 * (d) + 1, 2 * (d), 2 * (c) + 1, 2 * (c), 2 * (b) + 1, 2 * (b), 2 * (a) + 1, 2 * (a))
    /* Lane 4 + l is lane l of the second register. */
    const V a = _mm512_permutex2var_epi64(x[0], LANE_PAIRS(0, 4, 0, 1), x[1]);
    const V b = _mm512_permutex2var_epi64(x[1], LANE_PAIRS(1, 5, 0, 2), x[2]);
    const V c = _mm512_permutex2var_epi64(x[2], LANE_PAIRS(2, 7, 0, 3), x[0]);
    put_past(p, _mm512_permutex2var_epi64(a, LANE_PAIRS(0, 1, 4, 3), x[2]), past);
    put_past(p + 64, _mm512_permutex2var_epi64(b, LANE_PAIRS(0, 1, 4 + 2, 3), x[0]), past);
    put_past(p + 128, _mm512_permutex2var_epi64(c, LANE_PAIRS(0, 1, 4 + 3, 3), x[1]), past);
#else
#if VB == 32
    if (past) {
        put_past(p, _mm256_permute2x128_si256(x[0], x[1], 0x20), 1);
        put_past(p + 32, _mm256_permute2x128_si256(x[2], x[0], 0x30), 1);
        put_past(p + 64, _mm256_permute2x128_si256(x[1], x[2], 0x31), 1);
        return;
    }
#endif
    for (int l = 0; l < LANES; ++l)
        for (int r = 0; r < 3; ++r) put_lane(p + 16 * (3 * l + r), lane_of(x[r], l), past);
#endif
}
/* The elements of three channels before the first vector that begins at a multiple of VB: as many as -p has, divided by 3 modulo a
 * power of two, of which 43 is the inverse. */
INLINE int64_t lead_of_thirds(const uint8_t *p, int size) {
    return (uintptr_t)p % size ? 0 : (int64_t)((-(uintptr_t)p / size * 43) % (VB / size));
}
/* `turn`: the remainder of 16 / size modulo 3. `inverse`: the inverse of 3 modulo 16 / size. */
#define SPLIT3(size, turn)                                                                                       \
    INLINE int64_t split3_##size(const uint8_t *src, uint8_t *dst, int64_t d, int64_t n, int how, int mirrored) {             \
        enum { STEP = LANES * 16 / size };                                                                       \
        if (n < STEP) return 0;                                                                                  \
        const int past = how & PAST && d % VB == 0;                                                              \
        const int64_t lead = mirrored_lead(mirrored, d % VB == 0, dst, size, n);                                                    \
        const Thirds t = thirds(size, 0);                                                                        \
        const int reach = reach_of(3 * size * n, how);                                                           \
        AT_STEPS {                                                                                               \
            const uint8_t *s = src + 3 * size * i;                                                               \
            fetch_ahead(reach, s, 3 * VB);                                                                       \
            const V x[3] = {lanes(s, 48), lanes(s + 16, 48), lanes(s + 32, 48)};                                 \
            for (int c = 0; c < 3; ++c) {                                                                        \
                const V v = select3(x[0], x[1], x[2], t.at[(c + 2 * turn) % 3], t.at[(c + turn) % 3]);           \
                put_past_lanes(dst + c * d + TO * size, turned(size, shuffled(v, t.order[c]), mirrored), past);                                 \
            }                                                                                                    \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
#define MERGE3(size, turn, inverse)                                                                              \
    INLINE int64_t merge3_##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int how, int mirrored) {             \
        enum { STEP = LANES * 16 / size };                                                                       \
        if (n < STEP) return 0;                                                                                  \
        const int past = how & PAST;                                                                             \
        const int64_t lead = past && !mirrored ? lead_of_thirds(dst, size) : 0;                                  \
        const Thirds t = thirds(size, inverse);                                                                  \
        const int far = VB > 16 && (how & COLD || 3 * size * n >= FAR_FROM);                                     \
        AT_STEPS {                                                                                               \
            V x[3];                                                                                              \
            fetch_planes(far, src + i * size, s, 3);                                                             \
            for (int c = 0; c < 3; ++c) x[c] = shuffled(turned(size, whole(src + c * s + i * size), mirrored), t.order[c]);              \
            V y[3];                                                                                              \
            for (int r = 0; r < 3; ++r)                                                                          \
                y[r] = select3(x[0], x[1], x[2], t.at[(1 + (3 - turn) * r) % 3], t.at[(2 + (3 - turn) * r) % 3]); \
            put_thirds(dst + 3 * size * TO, y, past);                                                             \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
SPLIT3(1, 1)
SPLIT3(2, 2)
SPLIT3(4, 1)
MERGE3(1, 1, 11)
MERGE3(2, 2, 3)
MERGE3(4, 1, 3)
#else
/* Without byte shuffles: 3 registers are 6 halves, and interleaving each half with the third one after it is a perfect
 * shuffle of their 48 / size elements, which doubles an index modulo one less than that. Splitting needs
 * log2(elements of one register) rounds, merging as many in the opposite direction. */
#define SPLIT3(size, rounds)                                                                                     \
    INLINE int64_t split3_##size(const uint8_t *src, uint8_t *dst, int64_t d, int64_t n, int how, int mirrored) {             \
        enum { STEP = 16 / size };                                                                               \
        if (n < STEP) return 0;                                                                                  \
        const int64_t lead = 0;                                                                                  \
        (void)how;                                                                                               \
        AT_STEPS {                                                                                               \
            const uint8_t *s = src + 3 * size * i;                                                               \
            B1 x[3] = {load16(s), load16(s + 16), load16(s + 32)};                                               \
            for (int k = 0; k < rounds; ++k) {                                                                   \
                const B1 a = low##size(x[0], high8(x[1], x[1])), b = low##size(high8(x[0], x[0]), x[2]);         \
                x[2] = low##size(x[1], high8(x[2], x[2]));                                                       \
                x[0] = a, x[1] = b;                                                                              \
            }                                                                                                    \
            for (int c = 0; c < 3; ++c) store16(dst + c * d + TO * size, turned(size, x[c], mirrored));                                   \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
#define MERGE3(size, rounds)                                                                                     \
    INLINE int64_t merge3_##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int how, int mirrored) {             \
        enum { STEP = 16 / size };                                                                               \
        if (n < STEP) return 0;                                                                                  \
        const int64_t lead = 0;                                                                                  \
        (void)how;                                                                                               \
        AT_STEPS {                                                                                               \
            B1 x[3];                                                                                             \
            for (int c = 0; c < 3; ++c) x[c] = turned(size, load16(src + c * s + i * size), mirrored);                                   \
            for (int k = 0; k < rounds; ++k) {                                                                   \
                const B1 a = even##size(x[0], x[1]), b = low8(even##size(x[2], x[2]), odd##size(x[0], x[0]));    \
                x[2] = odd##size(x[1], x[2]);                                                                    \
                x[0] = a, x[1] = b;                                                                              \
            }                                                                                                    \
            for (int r = 0; r < 3; ++r) store16(dst + 3 * size * TO + 16 * r, x[r]);                              \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
INLINE B1 even1(B1 a, B1 b) { return SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30); }
INLINE B1 odd1(B1 a, B1 b) { return SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31); }
INLINE B1 even2(B1 a, B1 b) { return (B1)SHUFFLE((B2)a, (B2)b, 0, 2, 4, 6, 8, 10, 12, 14); }
INLINE B1 odd2(B1 a, B1 b) { return (B1)SHUFFLE((B2)a, (B2)b, 1, 3, 5, 7, 9, 11, 13, 15); }
INLINE B1 even4(B1 a, B1 b) { return (B1)SHUFFLE((B4)a, (B4)b, 0, 2, 4, 6); }
INLINE B1 odd4(B1 a, B1 b) { return (B1)SHUFFLE((B4)a, (B4)b, 1, 3, 5, 7); }
SPLIT3(1, 4)
SPLIT3(2, 3)
SPLIT3(4, 2)
MERGE3(1, 4)
MERGE3(2, 3)
MERGE3(4, 2)
#endif

/* 2, 4 and 8 channels by unpacking only: each round rotates the index (register, element) left by one bit. */
#define ROUNDS(count, size, rounds)                              \
    for (int k = 0; k < rounds; ++k) {                           \
        ROUND(V, VLOW_##size, VHIGH_##size, x, y, count)         \
        for (int r = 0; r < count; ++r) x[r] = y[r];             \
    }
#define SPLIT_EVEN(count, size, rounds)                                                                          \
    INLINE int64_t split##count##_##size(const uint8_t *src, uint8_t *dst, int64_t d, int64_t n, int how, int mirrored) {     \
        enum { STEP = LANES * 16 / size };                                                                       \
        if (n < STEP) return 0;                                                                                  \
        const int past = how & PAST && d % VB == 0;                                                              \
        const int reach = reach_of(count * size * n, how);                                                       \
        const int64_t lead = mirrored_lead(mirrored, count > 2 && d % VB == 0, dst, size, n);                                                    \
        AT_STEPS {                                                                                               \
            V x[count], y[count];                                                                                \
            const uint8_t *s = src + count * size * i;                                                           \
            fetch_ahead(reach, s, count * VB);                                                                   \
            for (int r = 0; r < count; ++r) x[r] = SPLIT_TURNS(count, size) ? whole(s + VB * r) : lanes(s + 16 * r, 16 * count); \
            ROUNDS(count, size, rounds)                                                                          \
            for (int r = 0; r < count; ++r) {                                                                    \
                const V v = SPLIT_TURNS(count, size) ? TURN##count(x[r], SCATTERED) : x[r];                      \
                put_past_lanes(dst + r * d + TO * size, turned(size, v, mirrored), past);                              \
            }                                                                                                    \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
#define MERGE_EVEN(count, size, rounds)                                                                          \
    INLINE int64_t merge##count##_##size##_of(int64_t present, const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int how, int mirrored) {     \
        enum { STEP = LANES * 16 / size };                                                                       \
        if (n < STEP) return 0;                                                                                  \
        const int64_t lead = mirrored_lead(mirrored, 1, dst, count * size, n);                                                      \
        const int past = how & PAST, far = VB > 16 && (how & COLD || count * size * n >= FAR_FROM);              \
        AT_STEPS {                                                                                               \
            V x[count], y[count];                                                                                \
            fetch_planes(far, src + i * size, s, (int)present);                                                       \
            for (int r = 0; r < count; ++r) x[r] = r < present ? turned(size, whole(src + r * s + i * size), mirrored) : (V){0};                                \
            if (MERGE_TURNS(count, size, past))                                                                  \
                for (int r = 0; r < count; ++r) x[r] = TURN##count(x[r], GATHERED);                              \
            ROUNDS(count, size, rounds)                                                                          \
            uint8_t *to = dst + count * size * TO;                                                                \
            if (MERGE_TURNS(count, size, past))                                                                  \
                for (int r = 0; r < count; ++r) put_past(to + VB * r, x[r], past);                               \
            else                                                                                                 \
                for (int l = 0; l < LANES; ++l)                                                                  \
                    for (int r = 0; r < count; ++r) put_lane(to + 16 * (l * count + r), lane_of(x[r], l), past); \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }                                                                                                            \
    MERGE_ALL(count, size)
#define MERGE_ALL(count, size)                                                                                   \
    INLINE int64_t merge##count##_##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int how, int mirrored) {     \
        return merge##count##_##size##_of(count, src, s, dst, n, how, mirrored);                                 \
    }
#ifndef STRUCTURES
SPLIT_EVEN(2, 1, 4)
SPLIT_EVEN(2, 2, 3)
SPLIT_EVEN(2, 4, 2)
SPLIT_EVEN(4, 1, 4)
SPLIT_EVEN(4, 2, 3)
SPLIT_EVEN(4, 4, 2)
MERGE_EVEN(2, 1, 1)
MERGE_EVEN(2, 2, 1)
MERGE_EVEN(2, 4, 1)
MERGE_EVEN(4, 1, 2)
MERGE_EVEN(4, 2, 2)
MERGE_EVEN(4, 4, 2)
#endif
SPLIT_EVEN(8, 1, 4)
SPLIT_EVEN(8, 2, 3)
SPLIT_EVEN(8, 4, 2)
MERGE_EVEN(8, 1, 3)
MERGE_EVEN(8, 2, 3)
MERGE_EVEN(8, 4, 3)

#define CHANNELS(count, size, CALL)                                              \
    switch (10 * (count) + (size)) {                                             \
        case 21: CALL(2, 1); break;                                              \
        case 22: CALL(2, 2); break;                                              \
        case 24: CALL(2, 4); break;                                              \
        case 31: CALL(3, 1); break;                                              \
        case 32: CALL(3, 2); break;                                              \
        case 34: CALL(3, 4); break;                                              \
        case 41: CALL(4, 1); break;                                              \
        case 42: CALL(4, 2); break;                                              \
        case 44: CALL(4, 4); break;                                              \
        case 81: CALL(8, 1); break;                                              \
        case 82: CALL(8, 2); break;                                              \
        case 84: CALL(8, 4); break;                                              \
    }
