/* Threads that share plans and the pool, programs of every level, reductions and gray, some stopped halfway; and forks
 * meanwhile, whose children do the same. For ThreadSanitizer, which sees what only happens to go well. Built as check.c
 * is; the arguments are how many rounds each thread runs, how many forks there are, and whether their children start
 * threads (1), which ThreadSanitizer does not survive, or use the caller's alone (0). */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gray.h"
#include "peaks.h"
#include "pool.h"
#include "program.h"
#include "reduce.h"

enum { THREADS = 8, C = 24, PLANE = 1 << 14, ELEMENTS = C * PLANE, BYTES = 4 * ELEMENTS };

static float src[ELEMENTS];
static uint8_t bytes[ELEMENTS], gray_expected[PLANE];
static float expected_move[ELEMENTS];
static uint8_t expected_bytes[ELEMENTS];
static int64_t expected_argmax[PLANE];
static float expected_softmax[ELEMENTS];
static const float shift = 0, scale = 3, divisor = 1, before = 0, low = 0, high = 255;
static const int32_t after = 0;
static Program moves[8], converts[8];
static Reduction largest, soft;
static Box pixels;
static int levels, resizes = 1;
static atomic_long runs, stops, wrong;

static const Level *level_of(int i) {
    for (int k = 0; k < level_count(); ++k)
        if (level_at(k) && !i--) return level_at(k);
    return NULL;
}

/* C x PLANE to PLANE x C, floats and as bytes, after zeros everywhere. */
static void plan(Program *p, const Level *level, int converting) {
    const Arithmetic a = {.from = F32, .to = U8, .divides = 0, .steps = 1, .channels = 1, .shift = &shift, .scale = &scale,
                          .divisor = &divisor, .before = &before, .low = &low, .high = &high, .after = &after};
    const int64_t to = converting ? 1 : 4;
    const Box box = {2, {{PLANE, 4, C * to, 0}, {C, 4 * PLANE, to, 0}}, 0, 0, 0};
    *p = (Program){.level = level, .converts = converting, .arithmetic = a, .src_bytes = BYTES, .dst_bytes = ELEMENTS * to,
                   .fill_bytes = ELEMENTS * to, .jobs = 2, .job = calloc(2, sizeof(Job))};
    p->job[0].is_fill = 1, p->job[0].size = p->job[1].size = (int)to;
    p->job[0].move.box = (Box){1, {{ELEMENTS, 0, to, 0}}, 0, 0, 0};
    if (converting)
        job_convert(&p->job[1], &box, &p->arithmetic);
    else
        move_plan(&p->job[1].move, &box, 4, 0);
}

typedef struct {
    const Program *program;
    const Level *level;
    uint8_t *dst;
} Call;

static void fill_part(const void *context, int64_t part, int64_t parts) {
    const Call *c = context;
    program_fill(c->program, c->dst, part, parts);
}
static void move_part(const void *context, int64_t part, int64_t parts) {
    const Call *c = context;
    program_move(c->program, (const uint8_t *)src, c->dst, part, parts, (Whereabouts){part & 1, part & 1, part & 1});
}
static void argmax_part(const void *context, int64_t part, int64_t parts) {
    const Call *c = context;
    argmax_run(c->level, &largest, (const uint8_t *)src, c->dst, part, parts);
}
static void softmax_part(const void *context, int64_t part, int64_t parts) {
    const Call *c = context;
    softmax_run(c->level, &soft, (const uint8_t *)src, c->dst, part, parts);
}
static void gray_part(const void *context, int64_t part, int64_t parts) {
    const Call *c = context;
    gray_run(c->level, &(Graying){pixels, GRAY_U8, part & 1, part & 1}, bytes, bytes + PLANE, bytes + 2 * PLANE, c->dst, part, parts);
}
static int stop(void *unused) {
    (void)unused;
    return 1;
}

static int stop_never(void *unused) {
    (void)unused;
    return 0;
}

static void check(const void *got, const void *expected, size_t size) {
    atomic_fetch_add(&runs, 1);
    if (memcmp(got, expected, size)) atomic_fetch_add(&wrong, 1);
}

static void one_round(unsigned *seed, uint8_t *room) {
    const int at = rand_r(seed) % levels;
    const Level *level = level_of(at);
    for (int k = 0; k < 2; ++k) {
        const Call call = {k ? converts + at : moves + at, level, room};
        memset(room, 0xAB, BYTES);
        pool_run(fill_part, &call, call.program->fill_bytes, NULL, NULL);
        pool_run(move_part, &call, BYTES + call.program->dst_bytes, NULL, NULL);
        check(room, k ? (const void *)expected_bytes : expected_move, (size_t)call.program->dst_bytes);
    }
    const Call call = {moves + at, level, room};
    pool_run(argmax_part, &call, BYTES, NULL, NULL);
    check(room, expected_argmax, sizeof expected_argmax);
    pool_run(softmax_part, &call, 2 * BYTES, NULL, NULL);
    check(room, expected_softmax, sizeof expected_softmax);
    pool_run(gray_part, &call, BYTES, NULL, NULL);
    check(room, gray_expected, sizeof gray_expected);
    if (rand_r(seed) % 4 == 0) { /* as many bytes as take slices, so that there is something to leave */
        if (pool_run(move_part, &call, (int64_t)64 * SLICE, stop, NULL)) atomic_fetch_add(&stops, 1);
    }
    if (resizes && rand_r(seed) % 4 == 0) pool_set_threads(1 + rand_r(seed) % 6);
}

enum { MOST_SEEN = 16, PARTS = 64 };
static pthread_t seen[MOST_SEEN];
static atomic_int seen_count;
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;

static void seen_part(const void *context, int64_t part, int64_t parts) {
    (void)context, (void)part, (void)parts;
    pthread_mutex_lock(&seen_lock);
    int i = 0;
    while (i < seen_count && !pthread_equal(seen[i], pthread_self())) ++i;
    if (i == seen_count && i < MOST_SEEN) seen[seen_count++] = pthread_self();
    pthread_mutex_unlock(&seen_lock);
    nanosleep(&(struct timespec){0, 500000}, NULL);
}

/* The threads that share a task after so many have been asked for. */
static int threads_of(int asked) {
    seen_count = 0;
    pool_set_threads(asked);
    pool_run(seen_part, NULL, (int64_t)PARTS * SLICE, stop_never, NULL);
    return seen_count;
}

static long rounds;
static void *worker(void *number) {
    unsigned seed = (unsigned)(size_t)number;
    uint8_t *room = malloc(BYTES);
    for (long i = 0; i < rounds; ++i) one_round(&seed, room);
    free(room);
    return NULL;
}

static void all_threads(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; ++i) pthread_create(threads + i, NULL, worker, (void *)(i + 1));
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atol(arguments[1]) : 50;
    const int forks = count > 2 ? atoi(arguments[2]) : 8, threaded = count > 3 ? atoi(arguments[3]) : 1;
    for (int i = 0; i < ELEMENTS; ++i) src[i] = (float)(i * 2654435761u >> 26), bytes[i] = (uint8_t)(i * 2654435761u >> 24);
    while (levels < 8 && level_of(levels)) ++levels;
    for (int i = 0; i < levels; ++i) plan(moves + i, level_of(i), 0), plan(converts + i, level_of(i), 1);
    pixels = (Box){1, {{PLANE, 1, 1, 0}}, 0, 0, 0};
    largest = (Reduction){.type = F32, .channels = C, .positions = {1, {{PLANE, 4, 8, 0}}, 0, 0, 0},
                          .from = {1, {{C, 4 * PLANE, 0, 0}}}, .scale = 1};
    soft = largest;
    soft.positions.loops[0].d = 4, soft.to = soft.from;
    reduction_plan(&largest), reduction_plan(&soft);
    for (int i = 0; i < PLANE; ++i)
        for (int c = 0; c < C; ++c) {
            const float x = src[c * PLANE + i];
            expected_move[i * C + c] = x;
            expected_bytes[i * C + c] = (uint8_t)(x * 3);
            if (x > src[expected_argmax[i] * PLANE + i]) expected_argmax[i] = c;
        }
    softmax_run(level_of(0), &soft, (const uint8_t *)src, (uint8_t *)expected_softmax, 0, 1);
    gray_run(level_of(0), &(Graying){pixels, GRAY_U8, 0, 0}, bytes, bytes + PLANE, bytes + 2 * PLANE, gray_expected, 0, 1);
    pool_set_threads(4);
    all_threads();

    /* Children of a busy pool. */
    pthread_t busy[2];
    for (size_t i = 0; i < 2; ++i) pthread_create(busy + i, NULL, worker, (void *)(100 + i));
    int failed = 0;
    for (int i = 0; i < forks; ++i) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        const pid_t child = fork();
        if (child == 0) {
            atomic_store(&wrong, 0), rounds = 2;
            pool_set_threads(threaded ? 4 : 1), resizes = threaded;
            threaded ? all_threads() : (void)worker((void *)1);
            _exit(atomic_load(&wrong) != 0);
        }
        int status = 1;
        waitpid(child, &status, 0);
        failed += status != 0;
    }
    for (int i = 0; i < 2; ++i) pthread_join(busy[i], NULL);
    for (int asked = 6; asked > 0; --asked) {
        const int found = threads_of(asked);
        if (found > asked || (asked > 1 && found < 2)) printf("asked for %d threads, %d worked\n", asked, found), ++wrong;
    }
    printf("%d threads, %ld rounds each at %d level(s), %ld kernels and %ld stopped ones run, %d forks (children with%s threads): %ld wrong, %d children failed\n",
           THREADS, rounds, levels, atomic_load(&runs), atomic_load(&stops), forks, threaded ? "" : "out", atomic_load(&wrong), failed);
    return atomic_load(&wrong) || failed;
}
