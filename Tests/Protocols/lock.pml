/* SPDX-License-Identifier: Apache-2.0 */
// hrt_lock (CSources/CHRTimer/clock/hrt_lock.c): mutual exclusion, and no thread sleeps for ever. A child of fork(2) has the lock's
// word and none of the threads: its own threads take the lock over from a holder that does not exist there, once.
//
// WRONG_1: a thread that has slept takes the lock without the bit that others may sleep.
// WRONG_2: the lock is released without a wake.
// WRONG_3: a thread takes the lock over by a store, not by an exchange.
// WRONG_4: the word has no generation: a child waits for a thread of its parent.
// WRONG_5: a thread compares the bit for waiters too, to see whether another process holds the lock.
// WRONG_6: a thread that held the lock and forked releases it in the child.
#define THREADS 3
#define ROUNDS 2
#define FREE 0
#define IS_HELD 1
#define HAS_WAITERS 2
#define GENERATION_SHIFT 2

#ifdef WRONG_4
#define HELD_NOW IS_HELD
#else
#define HELD_NOW (generation << GENERATION_SHIFT | IS_HELD)
#endif
#ifdef WRONG_5
#define IS_OF_ANOTHER_PROCESS(value) ((value) != FREE && (value) != held)
#else
#define IS_OF_ANOTHER_PROCESS(value) ((value) != FREE && ((value) | HAS_WAITERS) != (held | HAS_WAITERS))
#endif

byte word = FREE;
byte generation = 0;
byte asleep = 0;   // threads in futex(2)
byte wakes = 0;    // wakes on their way to them
byte inside = 0;

// futex(2), FUTEX_WAIT: looks at the word and goes to sleep at once, or not at all. It may return without a wake, too.
inline futex_wait(expected) {
    atomic { if :: word == (expected) -> asleep++; sleeps = true :: true -> sleeps = false fi }
    if :: sleeps -> atomic { wakes > 0 -> wakes--; asleep--; sleeps = false } :: else fi
}

inline futex_wake() {
    atomic { if :: asleep > wakes -> wakes++ :: else fi }
}

// From `seen`, if the word is that; otherwise `seen` is what the word is.
inline exchange(wanted) {
    atomic { if :: word == seen -> word = wanted; done = true :: else -> seen = word; done = false fi }
}

// Takes the lock if it is free, or if a thread holds it that does not exist in this child.
inline try(wanted) {
    if
    ::  seen != FREE && !IS_OF_ANOTHER_PROCESS(seen) -> done = false
#ifdef WRONG_3
    ::  IS_OF_ANOTHER_PROCESS(seen) -> word = wanted; done = true
    ::  seen == FREE -> exchange(wanted)
#else
    ::  else -> exchange(wanted)
#endif
    fi
}

inline acquire() {
    held = HELD_NOW;
    seen = FREE;
    exchange(held);
    if
    ::  done
    ::  else ->
        // It looks and pauses: as often as it likes, which may be not at all here.
        seen = FREE;
        do
        ::  (seen & HAS_WAITERS) == 0 ->
            seen = word;
            try(held);
            if :: done -> break :: else fi
        ::  break
        od;
        if :: !done -> seen = word :: else fi;
        do
        ::  done -> break
        ::  else ->
#ifdef WRONG_1
            try(held);
#else
            try(held | HAS_WAITERS);
#endif
            if
            ::  done
            ::  !done && (seen == FREE || IS_OF_ANOTHER_PROCESS(seen))   // it changed in between
            ::  !done && seen != FREE && !IS_OF_ANOTHER_PROCESS(seen) ->
                if
                ::  (seen & HAS_WAITERS) != 0 -> done = true
                ::  else -> exchange(held | HAS_WAITERS)
                fi;
                if :: done -> done = false; futex_wait(held | HAS_WAITERS); seen = word :: else fi
            fi
        od
    fi
}

inline release() {
    atomic { seen = word; word = FREE }
#ifndef WRONG_2
    if :: (seen & HAS_WAITERS) != 0 -> futex_wake() :: else fi
#endif
}

proctype Thread() {
    byte held, seen, round;
    bool done, sleeps;
    for (round : 1 .. ROUNDS) {
        acquire();
        inside++;
        assert(inside == 1);
        // It was taken in this process: hrt_lock_is_abandoned() is false from now on.
        assert(word >> GENERATION_SHIFT == generation);
        inside--;
        release()
    }
}

#ifdef WRONG_6
proctype Forker() {
    byte seen;
    if :: generation != 0 -> release() :: else fi
}
#endif

init {
    byte i;
    // A fork finds the word as any thread of the parent may have left it, and leaves the child nothing else: nobody sleeps there,
    // and the holder is gone, or is the thread that forked. A lock that was free is as without a fork.
    if
    ::  true
    ::  generation = 1; word = IS_HELD
    ::  generation = 1; word = IS_HELD | HAS_WAITERS
    fi;
    atomic {
#ifdef WRONG_6
        run Forker();
#endif
        for (i : 1 .. THREADS) { run Thread() }
    }
    timeout;
    assert(word == FREE && asleep == 0)
}
