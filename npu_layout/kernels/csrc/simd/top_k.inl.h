/* The k largest channels of each position, after reduce.inl.h. The loops compare keys: signed integers of 32 bits in the order of
 * the elements. For floats -0 equals 0, and every NaN is the largest. */
INLINE S key_of(F v) {
    const S bits = (S)(v + every(0.0f)), nan = (S)(v != v);
    return ((bits ^ ((bits >> 31) & INT32_MAX)) & ~nan) | (nan & INT32_MAX);
}
INLINE S numbers_at(const int32_t *p) {
    S v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE S sortable_i32(const uint8_t *p) { return numbers_at((const int32_t *)(const void *)p); }
INLINE S sortable_f16(const uint8_t *p) { return key_of(get_f16(p)); }
INLINE S sortable_bf16(const uint8_t *p) { return key_of(get_bf16(p)); }
INLINE S sortable_f32(const uint8_t *p) { return key_of(get_f32(p)); }
#define KEYS(name, size, key)                                                                                    \
    static void HERE(keys_##name)(const uint8_t *p, int64_t step, int64_t rows, int64_t n, int32_t *keys) {      \
        int64_t i = 0;                                                                                           \
        for (; rows > 0; --rows, p += step)                                                                      \
            for (i = 0; i + WIDTH <= n; i += WIDTH, keys += WIDTH) {                                             \
                const S v = key(p + i * size);                                                                   \
                memcpy(keys, &v, sizeof v);                                                                      \
            }                                                                                                    \
        if (i >= n) return;                                                                                      \
        uint8_t room[4 * WIDTH] = {0};                                                                           \
        memcpy(room, p - step + i * size, (size_t)((n - i) * size));                                             \
        const S v = key(room);                                                                                   \
        memcpy(keys, &v, sizeof v);                                                                              \
    }
KEYS(i8, 1, widen_i8)
KEYS(u8, 1, widen_u8)
KEYS(i16, 2, widen_i16)
KEYS(u16, 2, widen_u16)
KEYS(i32, 4, sortable_i32)
KEYS(f16, 2, sortable_f16)
KEYS(bf16, 2, sortable_bf16)
KEYS(f32, 4, sortable_f32)

/* A mask of lanes: one bit or all bits of each. */
#if VB == 64
typedef __mmask16 Lanes;
#define ALL_LANES 0xFFFF
INLINE Lanes above(S a, S b) { return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b); }
INLINE S either(Lanes first, S a, S b) { return (S)_mm512_mask_mov_epi32((__m512i)b, first, (__m512i)a); }
INLINE int any(Lanes lanes) { return lanes != 0; }
#else
typedef S Lanes;
#define ALL_LANES every_int(-1)
INLINE Lanes above(S a, S b) { return (S)(a > b); }
#if VB == 32
INLINE S either(Lanes first, S a, S b) { return (S)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)first); }
INLINE int any(Lanes lanes) { return _mm256_movemask_ps((__m256)lanes) != 0; }
#else
INLINE S either(Lanes first, S a, S b) { return (S)pick((V)first, (V)a, (V)b); }
#if defined(__SSE2__)
INLINE int any(Lanes lanes) { return _mm_movemask_ps((__m128)lanes) != 0; }
#elif defined(__aarch64__)
INLINE int any(Lanes lanes) { return vmaxvq_u32((uint32x4_t)lanes) != 0; }
#else
INLINE int any(Lanes lanes) { return lanes[0] | lanes[1] | lanes[2] | lanes[3]; }
#endif
#endif
#endif

/* ASKED: channels for each kept value from which on a test pays: before that, most channels are larger than a kept value. */
enum { ASKED = 12, IN_REGISTERS = 8 };
/* WIDTH positions, with up to IN_REGISTERS values in registers; k is a constant at compile time. */
INLINE void top_in_registers(const int32_t *planes, int64_t pitch, int64_t channels, int64_t most, int k, int64_t before, int32_t *best, int32_t *at) {
    S held[IN_REGISTERS], whose[IN_REGISTERS];
    for (int j = 0; j < k; ++j) {
        held[j] = before > j ? numbers_at(best + j * most) : every_int(0);
        whose[j] = before > j ? numbers_at(at + j * most) : every_int(0);
    }
    for (int64_t c = 0; c < channels; ++c) {
        const int64_t seen = before + c;
        const S v = numbers_at(planes + c * pitch), number = every_int((int32_t)seen);
        Lanes rises[IN_REGISTERS];
        if (seen >= ASKED * k && !any(above(v, held[k - 1]))) continue;
        for (int j = 0; j < k; ++j) rises[j] = seen > j ? above(v, held[j]) : ALL_LANES;
        for (int j = k - 1; j > 0; --j) {
            held[j] = either(rises[j], either(rises[j - 1], held[j - 1], v), held[j]);
            whose[j] = either(rises[j], either(rises[j - 1], whose[j - 1], number), whose[j]);
        }
        held[0] = either(rises[0], v, held[0]), whose[0] = either(rises[0], number, whose[0]);
    }
    for (int j = 0; j < k; ++j) {
        memcpy(best + j * most, held + j, sizeof *held);
        memcpy(at + j * most, whose + j, sizeof *whose);
    }
}
INLINE void top_in_memory(const int32_t *planes, int64_t pitch, int64_t channels, int64_t most, int64_t k, int64_t before, int32_t *best,
                           int32_t *at) {
    const int32_t *const last = best + (k - 1) * most;
    S least = before >= k ? numbers_at(last) : every_int(0);
    for (int64_t c = 0; c < channels; ++c) {
        const int64_t seen = before + c, lowest = at_most(seen, k - 1);
        const S v = numbers_at(planes + c * pitch), number = every_int((int32_t)seen);
        Lanes rises = seen < k ? ALL_LANES : above(v, least);
        if (seen >= ASKED * k && !any(rises)) continue;
        int32_t *key = best + lowest * most, *where = at + lowest * most;
        S held = numbers_at(key), whose = numbers_at(where);
        for (int64_t j = lowest; j > 0; --j, key -= most, where -= most) { /* values below v move down by one */
            const S upper = numbers_at(key - most), its = numbers_at(where - most);
            const Lanes higher = above(v, upper);
            held = either(rises, either(higher, upper, v), held), whose = either(rises, either(higher, its, number), whose);
            memcpy(key, &held, sizeof held), memcpy(where, &whose, sizeof whose);
            held = upper, whose = its, rises = higher;
        }
        held = either(rises, v, held), whose = either(rises, number, whose);
        memcpy(key, &held, sizeof held), memcpy(where, &whose, sizeof whose);
        if (seen >= k - 1) least = numbers_at(last);
    }
}
static void HERE(top_k)(const int32_t *planes, int64_t n, int64_t channels, int64_t most, int64_t k, int64_t before, int32_t *best,
                        int32_t *at) {
    for (int64_t i = 0; i < n; i += WIDTH) {
        switch (k) {
            case 1: top_in_registers(planes + i, n, channels, most, 1, before, best + i, at + i); break;
            case 2: top_in_registers(planes + i, n, channels, most, 2, before, best + i, at + i); break;
            case 3: top_in_registers(planes + i, n, channels, most, 3, before, best + i, at + i); break;
            case 4: top_in_registers(planes + i, n, channels, most, 4, before, best + i, at + i); break;
            case 5: top_in_registers(planes + i, n, channels, most, 5, before, best + i, at + i); break;
            case 6: top_in_registers(planes + i, n, channels, most, 6, before, best + i, at + i); break;
            case 7: top_in_registers(planes + i, n, channels, most, 7, before, best + i, at + i); break;
            case 8: top_in_registers(planes + i, n, channels, most, 8, before, best + i, at + i); break;
            default: top_in_memory(planes + i, n, channels, most, k, before, best + i, at + i);
        }
    }
}

/* One position, whose channels are neighbours; `kept` values were found before. */
static int64_t HERE(top_k_across)(const int32_t *row, int64_t channels, int64_t k, int64_t before, int64_t kept, int32_t *best,
                                  int32_t *at) {
    S least = every_int(kept == k ? best[k - 1] : 0);
    for (int64_t c = 0; c < channels; c += WIDTH) {
        if (kept == k && !any(above(numbers_at(row + c), least))) continue;
        const int64_t end = at_most(channels, c + WIDTH);
        for (int64_t l = c; l < end; ++l) {
            const int32_t key = row[l];
            if (kept == k && key <= best[k - 1]) continue;
            int64_t j = kept < k ? kept++ : k - 1;
            for (; j > 0 && key > best[j - 1]; --j) best[j] = best[j - 1], at[j] = at[j - 1];
            best[j] = key, at[j] = (int32_t)(before + l);
        }
        if (kept == k) least = every_int(best[k - 1]);
    }
    return kept;
}
