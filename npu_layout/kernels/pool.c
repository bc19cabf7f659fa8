/* A pool of threads for one task at a time. Whoever calls works too and takes whatever part is left, so that a worker
 * that wakes too late costs nothing; workers wait awake for a moment, because waking one takes longer than most tasks.
 * Who called can be told to stop: then parts that nobody has taken are left. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "core.h"

/* AWAKE: pauses before a worker goes to sleep, some 50 us. To wake one takes longer than a small task: that pays from
 * WAKE bytes on, or where a task comes within RECENT nanoseconds of the last, as in a loop. */
enum { MOST = 64, FEW = 2 * MOST, AWAKE = 4000, STACK = 1 << 20, WAKE = 4 << 20, RECENT = 200000 };

static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER, sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t awake = PTHREAD_COND_INITIALIZER;
static atomic_uint tickets;                  /* one for each task */
static atomic_int sleepers;
static _Atomic int64_t left, finished;       /* parts not taken, parts done */
static Task *task;                           /* these stand still from left > 0 until all parts are done */
static const void *context;
static int64_t parts;
static int threads_then;
static atomic_char taken[FEW]; /* which parts, where they are few */
static int started;
static unsigned forks; /* that this process is the child of, since the first worker */
static atomic_int wanted = 1;
static _Atomic int64_t last_task; /* when it ended */

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

static void pause_a_moment(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Whom to ask whether to go on, when that was, and whether the answer was no. */
typedef struct {
    Stop *stop;
    void *whose;
    int64_t asked;
    int stopped;
} Asking;

static int stops(Asking *a) {
    if (!a->stop || now() - a->asked < ASK) return 0;
    a->stopped = a->stop(a->whose);
    a->asked = now();
    return a->stopped;
}

/* One of the parts that nobody has taken, of which there are some: at first those that fell to the same thread in the
 * last task of as many parts, whose bytes its core may still hold. */
static int64_t take(int whose) {
    int64_t i = whose * parts / threads_then % parts;
    while (atomic_exchange(taken + i, 1)) i = (i + 1) % parts;
    return i;
}

/* Parts, one after the other, until none is left, or whoever is asked says so or forks. */
static void work(int whose, Asking *asking) {
    const unsigned before = forks;
    for (;;) {
        const int64_t mine = atomic_fetch_sub(&left, 1) - 1;
        if (mine < 0) return;
        task(context, parts <= FEW ? take(whose) : mine, parts);
        atomic_fetch_add(&finished, 1);
        if (asking && (stops(asking) || forks != before)) return;
    }
}

static int alone(Task *do_part, const void *its_context, int64_t count, Asking *asking) {
    for (int64_t i = 0; i < count; ++i) {
        do_part(its_context, i, count);
        if (stops(asking)) return 1;
    }
    return 0;
}

static void *worker(void *number) {
    const int whose = (int)(intptr_t)number;
    unsigned seen = 0;
    for (;;) {
        int waited = 0;
        while (atomic_load(&tickets) == seen && waited++ < AWAKE) pause_a_moment();
        if (atomic_load(&tickets) == seen) {
            pthread_mutex_lock(&sleep_lock);
            atomic_fetch_add(&sleepers, 1);
            while (atomic_load(&tickets) == seen) pthread_cond_wait(&awake, &sleep_lock);
            atomic_fetch_sub(&sleepers, 1);
            pthread_mutex_unlock(&sleep_lock);
        }
        seen = atomic_load(&tickets);
        work(whose, NULL);
    }
    return NULL;
}

/* In the child of a fork there is no worker, and whoever held a lock is gone. */
static void forked(void) {
    pthread_mutex_init(&in_use, NULL);
    pthread_mutex_init(&sleep_lock, NULL);
    pthread_cond_init(&awake, NULL);
    atomic_store(&tickets, 0);
    atomic_store(&sleepers, 0);
    atomic_store(&left, 0);
    started = 0;
    ++forks;
}

static void start(int workers) {
    static int registered;
    pthread_attr_t attributes;
    if (!registered) registered = !pthread_atfork(NULL, NULL, forked);
    if (!registered || pthread_attr_init(&attributes)) return;
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (; started < workers; ++started) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, worker, (void *)(intptr_t)(started + 1))) break;
    }
    pthread_attr_destroy(&attributes);
}

void pool_set_threads(int threads) { atomic_store(&wanted, threads < 1 ? 1 : threads > MOST ? MOST : threads); }

int pool_threads(void) { return atomic_load(&wanted); }

int pool_run(Task *do_part, const void *its_context, int64_t bytes, Stop *stop, void *whose) {
    const int threads = pool_threads();
    Asking asking = {stop, whose, stop ? now() : 0, 0};
    int64_t slices = stop ? bytes / SLICE : 1, count = bytes / PART;
    if (slices < 1) slices = 1;
    if (slices > 1 << 16) slices = 1 << 16;
    if (count > 2 * threads) count = 2 * threads;
    if (threads < 2 || count < 2 || pthread_mutex_trylock(&in_use)) return alone(do_part, its_context, slices, &asking);
    const int asleep = started < threads - 1 || atomic_load(&sleepers) > 0;
    if (asleep && bytes < WAKE && now() - atomic_load(&last_task) > RECENT) {
        do_part(its_context, 0, 1);
        atomic_store(&last_task, now());
        pthread_mutex_unlock(&in_use);
        return 0;
    }
    if (count < slices) count = slices;
    const unsigned before = forks;
    if (started < threads - 1) start(threads - 1);
    task = do_part, context = its_context, parts = count, threads_then = threads;
    for (int64_t i = 0; i < count && i < FEW; ++i) atomic_store(taken + i, 0);
    atomic_store(&finished, 0);
    atomic_store(&left, count);
    atomic_fetch_add(&tickets, 1);
    if (atomic_load(&sleepers)) {
        pthread_mutex_lock(&sleep_lock);
        pthread_cond_broadcast(&awake);
        pthread_mutex_unlock(&sleep_lock);
    }
    work(0, &asking);
    if (forks != before) /* by whoever was asked: this is the child, where nobody does the other parts or holds the lock */
        return asking.stopped || alone(do_part, its_context, slices, &asking);
    if (asking.stopped) {
        const int64_t rest = atomic_exchange(&left, 0);
        if (rest > 0) count -= rest;
    }
    while (atomic_load(&finished) < count) pause_a_moment();
    atomic_store(&last_task, now());
    pthread_mutex_unlock(&in_use);
    return asking.stopped;
}
