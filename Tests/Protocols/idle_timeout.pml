/* SPDX-License-Identifier: Apache-2.0 */
// IdleTimeout: touch() exchanges one word and tells the engine nothing unless the time has become shorter. Its handler comes
// once for a time that ran out, never for one that was touched or cancelled in time, and not later than the engine is awake.
//
// WRONG_1: who arms a deadline does not look whether that has replaced an earlier one.
// WRONG_2: the engine calls after a look, without an exchange.
// WRONG_3: touch() reads the clock before it loads the word.
#define LAST 4
#define EXPIRED 0
#define CANCELLED 20
#define NEVER 21

byte now = 1;
byte word = 2;    // the deadline, or why there is none
byte armed = 2;   // what the engine knows
byte quiet = 1;   // no call may come before: the greatest time of a touch that said true, and its timeout
byte calls;
bool isCancelled;
bool hasShorter;  // whether a touch may have a shorter timeout than the others

// Tells the engine, again if another thread has told it an earlier deadline meanwhile, which this has replaced.
inline arm(deadline, seen) {
    do
    ::  armed = deadline;
#ifdef WRONG_1
        break
#else
        seen = word;
        if :: seen != EXPIRED && seen < deadline -> deadline = seen :: else -> break fi
#endif
    od
}

proctype Toucher(byte timeout_) {
    byte begun, before, wanted;
    bool done;
    begun = now;
    wanted = begun + timeout_;
    do
    ::  before = word;
        if
        ::  before == EXPIRED || before >= CANCELLED -> break
        ::  else ->
#ifndef WRONG_3
            wanted = now + timeout_;
#endif
            atomic { if :: word == before -> word = wanted; done = true :: else fi }
            if
            ::  done ->
                if :: wanted < before -> arm(wanted, before) :: else fi;
                // Returns true.
                atomic { if :: !hasShorter && quiet < begun + timeout_ -> quiet = begun + timeout_ :: else fi };
                break
            ::  else
            fi
        fi
    od
}

proctype Canceller() {
    byte before;
    atomic { before = word; word = CANCELLED }
    isCancelled = (before != EXPIRED && before < CANCELLED);
    armed = NEVER
}

proctype Engine() {
    byte before, tick;
    do
    ::  armed != NEVER && now >= armed ->
        // Under its lock: laterDeadline().
        atomic {
            if
            ::  word != EXPIRED && word < CANCELLED && word > now -> armed = word; before = CANCELLED
            ::  else -> armed = NEVER; before = word
            fi
        }
        // Without it: look().
        do
        ::  before == EXPIRED || before >= CANCELLED -> break
        ::  else ->
            before = word;
            if
            ::  before == EXPIRED || before >= CANCELLED -> break
            ::  else
            fi;
            tick = now;
            if
            ::  before > tick ->
                arm(before, tick);
                break
            ::  else ->
#ifdef WRONG_2
                word = EXPIRED; assert(!isCancelled); calls++; break
#else
                atomic {
                    if
                    ::  word == before ->
                        word = EXPIRED; assert(tick >= before && tick >= quiet); assert(!isCancelled); calls++; break
                    ::  else
                    fi
                }
#endif
            fi
        od
    ::  now == LAST && (armed == NEVER || armed > now) -> break
    od;
    // A time that is shorter than what the engine waits for would run out late.
    do
    ::  timeout -> break
    od;
    assert(word == EXPIRED || word >= CANCELLED || armed <= word);
    assert(calls <= 1)
}

proctype Clock() {
    do :: now < LAST -> now++ :: now == LAST -> break od
}

init {
    atomic {
        if
        ::  run Toucher(2); run Toucher(2); if :: run Canceller() :: skip fi
        ::  hasShorter = true; run Toucher(4); run Toucher(1)
        ::  hasShorter = true; word = 6; armed = 6; run Toucher(3); run Toucher(1)
        fi;
        run Engine();
        run Clock()
    }
}
