@_exported public import HRTimerCore
