// IdleTimeout: touch() exchanges one word and tells the engine nothing unless the time has become shorter. Its handler comes
// once for a time that ran out, never for one that was touched or cancelled in time, and not later than the engine is awake.
//
// WRONG_1: what the engine finds moved it arms, and does not look again.
// WRONG_2: the engine calls after a look, without an exchange.
#define LAST 6
#define EXPIRED 0
#define CANCELLED 20
#define NEVER 21

byte now = 1;
byte word = 2;    // the deadline, or why there is none
byte armed = 2;   // what the engine knows
byte calls, cancels;
bool isCancelled;

proctype Toucher(byte wanted) {
    byte before;
    bool done;
    do
    ::  before = word;
        if
        ::  before == EXPIRED || before >= CANCELLED -> break
        ::  else ->
            atomic { if :: word == before -> word = wanted; done = true :: else fi }
            if
            ::  done ->
                if :: wanted < before -> armed = wanted :: else fi;
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

active proctype Engine() {
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
                armed = before;
#ifdef WRONG_1
                break
#else
                if :: word >= before -> break :: else fi
#endif
            ::  else ->
#ifdef WRONG_2
                word = EXPIRED; assert(!isCancelled); calls++; break
#else
                atomic {
                    if
                    ::  word == before -> word = EXPIRED; assert(tick >= before); assert(!isCancelled); calls++; break
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

active proctype Clock() {
    do :: now < LAST -> now++ :: now == LAST -> break od
}

init {
    run Toucher(9);
    run Toucher(8);
    if :: run Canceller() :: skip fi
}
