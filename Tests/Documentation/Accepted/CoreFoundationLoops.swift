import Foundation

import func HRTimerCompat.CFRunLoopGetMain
import func HRTimerCompat.CFRunLoopStop

// Core Foundation's run loop functions, imported beside Foundation, which has none of them on Linux.

func uses() {
    CFRunLoopStop(CFRunLoopGetMain())
}
