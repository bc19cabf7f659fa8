/* Buffers that are in no cache, such as those that come and go by DMA. Lines of such a source are fetched ahead. Such a result is
 * stored past the caches, so that no line is read before it is written; so is a result that would not stay in the caches. */
#ifndef NPU_LAYOUT_COLD_H
#define NPU_LAYOUT_COLD_H

#include <stdatomic.h>
#include <stdint.h>

/* Whether the caches cannot contain what a call reads and writes. `touched`: these bytes, at most; `shared`: several threads work
 * on it. */
int past_caches(int64_t touched, int shared);
/* The bytes of the last cache of this machine. */
void set_last_cache(int64_t bytes);
/* How this machine stores past the caches. `whole`: a part of a line takes up to 60 times as long as a whole one, so that only loops that
 * gain by such stores have them. `early`: such stores are as fast as those to the last cache, so that loops that gain by them have them
 * as soon as a thread reads and writes so many bytes; 0: at no size. */
void set_stores(int whole, int64_t early);
int stores_whole_lines(void);
int past_early(int64_t touched, int threads);

/* Where the last results of a program began, when, and how they were stored: past the caches, `left` times more; or through them:
 * TRIED, or LOOPED if the one before was so recent that it was in a cache in any case. */
enum { KNOWN_RESULTS = 32, TRIED = -1, LOOPED = -2 };
typedef struct {
    struct {
        _Atomic uintptr_t at;
        _Atomic int64_t when;
        _Atomic int left;
    } known[KNOWN_RESULTS];
    atomic_uint next;
} Results;

/* Whether to store a result past the caches because it is in none; it is called once for each result. Several threads may call it
 * at once. `early`: whether a result that was not seen before may be stored so, too. */
int past_cold(Results *results, const uint8_t *result, int64_t bytes, int early);
/* Whether a source is in no cache. */
int read_cold(const uint8_t *source, int64_t bytes);
/* Whether a result that is stored through the caches is in none, by one load. */
int write_cold(const uint8_t *result, int64_t bytes);
/* Set, for tests, what a look into the caches finds: 1: the buffer is in one, 0: it is in none, -1: what this machine says. Return
 * how many looks there were since the last call. */
int set_cached(int answer);

#endif
