// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension TimerLoop: ComparedByIdentity {}
extension LoopTimer: ComparedByIdentity {}
extension LoopSource: ComparedByIdentity {}
extension LoopTrigger: ComparedByIdentity {}
extension LoopObserver: ComparedByIdentity {}
extension LoopThread: ComparedByIdentity {}
extension LoopHost: ComparedByIdentity {}
extension TimerSource: ComparedByIdentity {}
extension DisplayLink: ComparedByIdentity {}
#endif
