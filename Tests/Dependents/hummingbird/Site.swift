// SPDX-License-Identifier: Apache-2.0
// In `DateCache.run`. The grid begins in 1970, so its ticks are the seconds of the wall clock, also after that was set.
let timerSequence = WallClock().ticks(every: Duration.seconds(1), first: WallInstant(nanoseconds: 0))
    .cancelOnGracefulShutdown()
