import CBench

extension Subject {
    /// libevent's timers, each on its own base. The loops are in C: CBench, kernel_libevent.c.
    static let libevent: [Subject] = [
        Subject("libevent.default", "libevent timer, one-shot; a coarse clock, and waits in whole ms") {
            try $0.fill(cbench_libevent_default)
        },
        Subject("libevent.precise", "the same on a base with EVENT_BASE_FLAG_PRECISE_TIMER") {
            try $0.fill(cbench_libevent_precise)
        },
        Subject("libevent.timerfd", "a timerfd armed absolutely, watched by libevent") {
            try $0.fill(cbench_libevent_timerfd)
        },
    ]
}
