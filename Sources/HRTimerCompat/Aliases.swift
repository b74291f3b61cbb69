import HRTimer
