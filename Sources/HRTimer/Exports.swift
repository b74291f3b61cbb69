#if os(Linux)
@_exported public import HRTimerCore
#endif
