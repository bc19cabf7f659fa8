/* A vector of elements, or of pixels that are moved as one, from its end. */
#if VB == 64
#define LANES_REVERSED(v) _mm512_shuffle_i64x2(v, v, 0x1B)
#elif VB == 32
#define LANES_REVERSED(v) _mm256_permute4x64_epi64(v, 0x4E)
#else
#define LANES_REVERSED(v) (v)
#endif

INLINE B1 reversed16(int size, B1 v) {
    if (size == 1) v = (B1)((B2)v << 8 | (B2)v >> 8);
    if (size <= 2) v = (B1)SHUFFLE((B2)v, (B2)v, 3, 2, 1, 0, 7, 6, 5, 4);
    if (size == 4) v = (B1)SHUFFLE((B4)v, (B4)v, 3, 2, 1, 0);
    return size == 4 || size == 16 ? v : (B1)SHUFFLE((B8)v, (B8)v, 1, 0);
}

#if SHUFFLES
INLINE V reversed(int size, V v) {
    uint8_t order[16];
    for (int i = 0; i < 16; ++i) order[i] = (uint8_t)((15 - i) / size * size + i % size);
    return LANES_REVERSED(size < 16 ? shuffled(v, broadcast(order)) : v);
}
#else
INLINE V reversed(int size, V v) { return reversed16(size, v); }
#endif
