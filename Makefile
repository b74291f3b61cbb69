# SPDX-License-Identifier: Apache-2.0
# The only spelling of: build, test, sanitize, lint, format, bench. `make bench ARGS="--preset smoke"` passes options on.
SWIFT ?= swift
ARGS ?=
# Further options of swift test.
TESTS ?=
# With BUILD_ONLY=1 the targets below that run tests in builds of their own only build them. With BUILT=1 they run what was built
# so: without it `swift test -c release` would build most of it anew.
TEST = $(SWIFT) $(if $(BUILD_ONLY),build --build-tests,test --disable-xctest $(if $(BUILT),--skip-build) $(TESTS))
# The same of the tests alone, with the two programs that they run and that are no part of them: without snippets and examples.
TESTS_ALONE = $(if $(BUILD_ONLY),$(foreach product,swift-hrtimerPackageTests GameLoop AtLaunchProgram,\
    $(SWIFT) build --product $(product) $(1) &&) true,$(TEST) $(1))
# DEBUG_INFO=none leaves out debug information, and with it the line numbers of a sanitizer's report: a sixth of a build's time.
INFO = $(if $(DEBUG_INFO),-debug-info-format $(DEBUG_INFO))
only = $(if $(BUILD_ONLY),,--filter '$(1)')
but = $(if $(BUILD_ONLY),,--skip '$(1)')
# One optimized build of the tests for all that need one. Without the trait Libevent: nothing else builds the tests so.
OPTIMIZED = -c release -Xswiftc -enable-testing --disable-default-traits $(INFO) --scratch-path .build-without-libevent
PYTHON ?= .build/python/bin/python
SOURCES = Package.swift Sources Tests Benchmarks Snippets Examples
# Undefined behaviour in C traps at once; the full runtime of UBSan is not part of Swift's toolchain.
UBSAN = -Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined

MODEL = Tests/Fuzz/queue_model.c Tests/Fuzz/queue_sorted.c Tests/CTestSupport/queue_check.c
QUEUE = CSources/CHRTimer/queue/*.c $(MODEL) -ICSources/CHRTimer/include -ITests/CTestSupport/include \
    -std=gnu17 -D_GNU_SOURCE

# Each target says on its line what it is for.
help:  ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: help build test frozen mutants faults bare snippets bench smoke strict sanitize sanitize-thread sanitize-address sanitize-realtime lint format \
    model model-short fuzz arm64 vkms never-early sleep-races ecosystem documentation-code clock-steps time-namespace steady \
    docs names docs-page docs-pictures tutorials agree compare-finds-slower lateness deadline-rounds musl hosts without-libevent not-linux plugins c-headers c-example future exports async-let-fault protocols \
    size async-algorithms dependents model-display pareto rivals figures results instructions replay reuse

build:  ## the library, the bench and the examples, for debugging
	$(SWIFT) build

test:  ## all tests; TESTS="--filter Name" for some
	$(SWIFT) test --disable-xctest $(TESTS)

# The suites on frozen time: a few seconds.
frozen:  ## the tests on frozen time: five seconds once they are built
	$(SWIFT) test --disable-xctest --filter '^HRTimer(Core|Testing|Compat|Calendar)?Tests\.' $(TESTS)

# The tests RUNS times in a row, the last quarter beside three processes that compute without end; by hand, for hours.
RUNS ?= 50
steady:  ## the tests RUNS=50 times in a row, the last quarter on a busy machine; by hand, for hours
	$(SWIFT) build --build-tests
	SWIFT="$(SWIFT)" Tests/steady $(RUNS) $(ARGS)

# Small wrong changes of HRTimerCore and HRTimer, and which no test finds. N of them, chosen by SEED, in one build; none begins after LIMIT
# minutes, and the same command goes on where it stopped. JOBS=2 runs two at a time: on more processors than that. RACES=1: locks that are
# not taken and atomic accesses with a weaker order, under Thread Sanitizer.
N ?= 200
SEED ?= 1
LIMIT ?= 60
mutants:  ## whether tests find N=200 small wrong changes chosen by SEED=1, in LIMIT=60 minutes; by hand
	SWIFT="$(SWIFT)" JOBS="$(JOBS)" RACES="$(RACES)" Tests/Mutants/run $(N) $(SEED) $(LIMIT)

# Faults that once were there, each put back behind a check of its name, all in one build; the test that each patch names must notice it.
faults:  ## whether tests notice the faults that were mended, put back; FAULTS="name name" for some; by hand
	SWIFT="$(SWIFT)" Tests/Faults/run $(FAULTS)

# On this machine, where libevent's headers may be: CI calls it on one without.
bare:  ## a program with HRTimerCore alone, built and run; without libevent's headers also what HRTimer's build says
	Tests/Bare/run .build/bare

# Each small program in Snippets/, to its end.
snippets: build  ## the small programs in Snippets/ and Examples/, each to its end
	for snippet in Snippets/*.swift Examples/*; do if [ -f $$snippet/Package.swift ] || [ $$snippet = Examples/C ]; then continue; fi; \
	    echo "$$snippet:"; timeout 60 $$($(SWIFT) build --show-bin-path)/$$(basename $$snippet .swift) || exit 1; done

# All code of README and doc comments compiles, each piece by itself, beside Tests/Documentation/Prelude.swift. What the README
# says of imports beside Foundation is so.
DOCUMENTATION = .build/documentation
documentation-code: build  ## compiles all code of README, articles and doc comments
	rm -rf $(DOCUMENTATION) && mkdir -p $(DOCUMENTATION)
	awk -v folder=$(DOCUMENTATION) -f Tests/Documentation/cut.awk README.md \
	    $$(find Sources/HRTimer/HRTimer.docc -name '*.md' | LC_ALL=C sort) \
	    $$(find Sources -name '*.swift' -not -path '*/Ecosystem/*' -not -path '*.docc/*' | LC_ALL=C sort)
	build=$$($(SWIFT) build --show-bin-path) && swiftc -typecheck -swift-version 6 -suppress-warnings \
	    -module-name Documentation -I $$build/Modules -I CSources/CLibevent -I CSources/CVsync/include \
	    -Xcc -fmodule-map-file=$$build/CHRTimer.build/module.modulemap -Xcc -ICSources/CHRTimer/include \
	    -Xcc -fmodule-map-file=$$build/CHRLoop.build/module.modulemap -Xcc -ICSources/CHRLoop/include \
	    -Xcc -fmodule-map-file=$$build/CEnqueueHook.build/module.modulemap -Xcc -ICSources/CEnqueueHook/include \
	    -Xcc -fmodule-map-file=$$build/CTaskScope.build/module.modulemap -Xcc -ICSources/CTaskScope/include \
	    -Xcc -fmodule-map-file=$$build/CRealtimeKit.build/module.modulemap -Xcc -ICSources/CRealtimeKit/include \
	    Tests/Documentation/Prelude.swift $(DOCUMENTATION)/*.swift
	build=$$($(SWIFT) build --show-bin-path) && client="-I $$build/Modules -I CSources/CLibevent -I CSources/CVsync/include \
	    -Xcc -fmodule-map-file=$$build/CHRTimer.build/module.modulemap -Xcc -ICSources/CHRTimer/include \
	    -Xcc -fmodule-map-file=$$build/CHRLoop.build/module.modulemap -Xcc -ICSources/CHRLoop/include \
	    -Xcc -fmodule-map-file=$$build/CTaskScope.build/module.modulemap -Xcc -ICSources/CTaskScope/include \
	    -Xcc -fmodule-map-file=$$build/CRealtimeKit.build/module.modulemap -Xcc -ICSources/CRealtimeKit/include" && \
	    Tests/Documentation/refused Tests/Documentation/Refused/*.swift Tests/Documentation/Accepted/*.swift -- \
	    swiftc -typecheck -swift-version 6 $$client && \
	    Tests/Documentation/beside Tests/Documentation/Beside/*.swift -- swiftc -typecheck $$client

# The documentation of all modules as a site, without a warning; each public symbol has a summary and a group. BASE_PATH=… for a
# site that is not at its server's root. `make docs-page` shows it at http://127.0.0.1:8000/documentation/swift-hrtimer.
docs: build  ## the documentation as a site, without a warning
	SWIFT="$(SWIFT)" Tests/Documentation/docs $$($(SWIFT) build --show-bin-path) .build/docs

# The limits are in Tests/API/names.
names: docs  ## how many public names there are, and whether each has a use in the documents
	Tests/API/names .build/docs/symbol-graphs

size:  ## how many lines each library module has, and marks of what Swift does not check
	Tests/API/size

docs-page: docs  ## the same, served at http://127.0.0.1:8000/documentation/swift-hrtimer
	python3 -m http.server --bind 127.0.0.1 --directory .build/docs/site 8000

# The documentation's pictures, from the files of `make results`.
docs-pictures:  ## the documentation's pictures, from the files of make results
	Tests/Documentation/pictures Sources/HRTimer/HRTimer.docc/Resources
	cp Benchmarks/Measured/idle.svg Sources/HRTimer/HRTimer.docc/Resources/idle.svg

# Each step of both tutorials, built and run in packages as a reader makes them.
tutorials:  ## each step of the tutorials, built and run as a reader has it
	Tests/Documentation/tutorials .build-tutorials

bench:  ## the bench as users run it; ARGS="--preset smoke"
	$(SWIFT) run -c release bench $(ARGS)

# Loops of other languages to compare with, as programs beside the bench: Debian's libuv1-dev and libasio-dev.
RIVAL = Benchmarks/Rivals/block.c Benchmarks/CBench/kernel_block.c Benchmarks/CBench/kernel_counters.c \
    Benchmarks/CBench/thread.c Benchmarks/CBench/why.c CSources/CHRTimer/observe/hrt_thread_counts.c \
    CSources/CHRTimer/thread/hrt_thread.c 
RIVAL_FLAGS = -O2 -Wall -Wextra -D_GNU_SOURCE -IBenchmarks/CBench/include -IBenchmarks/CBench -ICSources/CHRTimer/include
rivals:  ## the bench's rivals of other languages, libuv and asio
	$(SWIFT) build -c release --product bench $(SCRATCH)
	directory=$$($(SWIFT) build -c release $(SCRATCH) --show-bin-path) && \
	    clang $(RIVAL_FLAGS) $(RIVAL) Benchmarks/Rivals/libuv.c -luv -lpthread -o $$directory/rival-libuv && \
	    mkdir -p .build/rivals && for source in $(RIVAL); do \
	        clang $(RIVAL_FLAGS) -c $$source -o .build/rivals/$$(basename $$source).o || exit 1; done && \
	    clang++ -std=c++20 $(RIVAL_FLAGS) Benchmarks/Rivals/asio.cpp .build/rivals/*.o -lpthread -o $$directory/rival-asio

# Whether RESULTS.md and the figures of README.md are what the files of Benchmarks/Measured give; WRITE=1 makes them so.
figures:  ## whether RESULTS.md and README's figures are what the measured files give; WRITE=1 makes them so
	Benchmarks/figures $(if $(WRITE),--write)

# The files themselves, anew: two hours and a half, on a quiet machine.
results:  ## the measured files themselves, or with ONLY, a regular expression, some; by hand, as root, two hours and a half on a quiet machine
	SWIFT="$(SWIFT)" Benchmarks/results $(ARGS)

# Whether a public symbol that the release had is gone or has changed; Tests/API/release names its commit. After a build that is one
# more of the products, of that commit. The tool looks at `package` symbols too: Tests/API/allowed has those that may be gone, default
# arguments that have become an overload, and what one generic engine and clock have taken over. It is compared here, since the tool's
# own list cannot have two blanks in a row, as its messages have.
.PHONY: api
api:  ## whether a public symbol of the release is gone or has changed
	@git cat-file -e $$(cat Tests/API/release) 2>/dev/null || echo "api: this clone lacks the release's commit; nothing is compared"
	! git cat-file -e $$(cat Tests/API/release) 2>/dev/null || { \
	    $(SWIFT) package diagnose-api-breaking-changes $$(cat Tests/API/release) --baseline-dir .build/api-baseline >.build/api.log 2>&1; \
	    grep -q 'breaking change' .build/api.log && ! grep 'error:' .build/api.log || { cat .build/api.log; exit 1; }; \
	    ! grep -o 'API breakage: .*' .build/api.log | grep -vxFf Tests/API/allowed; }

# What precise timers lose beside fixed margins, at 1 kHz, 240 and 60 Hz. Ten minutes; 10^4 fires a row at 60 Hz are BLOCKS=30, and an
# hour and a half. `make results` has it idle, beside busy processes (ARGS="--load cmd:Benchmarks/pinned-load") and beside a load that
# changes every two seconds (ARGS="--load cmd:Benchmarks/changing-load").
BLOCKS ?= 3
PARETO = --preset thorough --blocks $(BLOCKS) --settle 50 --no-progress --interval 1ms --interval 4.167ms --interval 16.667ms \
    --only 'kernel.called.slack-1.*' --only hrtimer.engine.precise --only hrtimer.source.precise --only hrtimer.loop-timer.precise \
    --only hrtimer.executor-sleep.precise
pareto:  ## exactness against its cost, beside fixed margins; BLOCKS=n, by hand, ten minutes
	$(SWIFT) build -c release --product bench
	bench=$$($(SWIFT) build -c release --show-bin-path)/bench && \
	    $$bench run $(PARETO) $(ARGS) -o .build/pareto.json >/dev/null && $$bench pareto .build/pareto.json

# Whether the bench agrees with cyclictest (Debian's rt-tests); as root, a minute.
agree:  ## the bench against cyclictest (apt install rt-tests); as root
	$(SWIFT) build -c release --product bench
	Benchmarks/agree $$($(SWIFT) build -c release --show-bin-path)/bench

# Whether `bench compare` leaves 20 pairs of runs of one build alone, and finds builds that are 300 ns later, less exact by 5 points,
# and dearer by 2 µs; half an hour.
compare-finds-slower:  ## bench compare on pairs of equal builds and on slower ones; by hand, half an hour
	SWIFT="$(SWIFT)" Benchmarks/compare-finds-slower .build/compare

# The programs that convince: packages of their own under Examples, each beside the usual way. Each writes its file and its picture
# into RESULTS/NAME, by default into its own folder; ARGS makes it shorter, as in `make robot ARGS="--seconds 2"`.
.PHONY: examples midi-clock robot chat-server job-service game client-cost
EXAMPLE = $(SWIFT) build -c release --package-path Examples/$(1) --scratch-path .build-examples/$(1)
RESULTS ?= Examples
examples: midi-clock robot chat-server job-service game  ## the larger programs, each beside the usual way; a quiet machine for figures

midi-clock:  ## one of the examples: MIDI pulses
	$(call EXAMPLE,MIDIClock)
	mkdir -p $(RESULTS)/MIDIClock && .build-examples/MIDIClock/release/MIDIClock --output $(RESULTS)/MIDIClock $(ARGS)

robot:  ## one of the examples: a control loop
	$(call EXAMPLE,Robot)
	mkdir -p $(RESULTS)/Robot && .build-examples/Robot/release/Robot --output $(RESULTS)/Robot $(ARGS)

chat-server:  ## one of the examples: idle timeouts
	$(call EXAMPLE,ChatServer)
	mkdir -p $(RESULTS)/ChatServer && .build-examples/ChatServer/release/ChatServer --output $(RESULTS)/ChatServer $(ARGS)

job-service:  ## one of the examples: jobs by the calendar
	$(call EXAMPLE,JobService)
	mkdir -p $(RESULTS)/JobService && .build-examples/JobService/release/JobService --output $(RESULTS)/JobService $(ARGS)

# Needs libsdl2-dev, xvfb and weston.
game:  ## one of the examples: frames; needs libsdl2-dev, xvfb and weston
	$(call EXAMPLE,Game)
	mkdir -p $(RESULTS)/Game && Examples/Game/run .build-examples/Game/release/Game $(RESULTS)/Game $(ARGS)

# What the library costs a program that has one timer: time to build, size, start to first fire, idle memory and threads. On a quiet
# machine, two minutes: it builds from nothing.
client-cost:  ## what the library costs a program with one timer; by hand, on a quiet machine
	SWIFT="$(SWIFT)" Benchmarks/client-cost Benchmarks/Measured/client.json

.build/python/bin/python:
	python3 -m venv .build/python && .build/python/bin/pip install --quiet hdrhistogram

# What the bench exports, read back by HdrHistogram's reader for Python.
exports: $(PYTHON)  ## what the bench exports, read back by HdrHistogram's reader for Python
	$(SWIFT) build -c release --product bench
	bench=$$($(SWIFT) build -c release --show-bin-path)/bench && rm -rf .build/exports && mkdir -p .build/exports && \
	    $$bench run --preset smoke --no-progress --format json -o .build/exports/run.json && \
	    $$bench report .build/exports/run.json --format hgrm -o .build/exports/percentiles && \
	    $(PYTHON) Benchmarks/hdr_readers.py .build/exports/run.json .build/exports/percentiles

# Gates on counts, never on microseconds: nothing early, no descriptor and no timer left.
smoke:  ## the bench with small parameters; gates on counts
	$(SWIFT) run -c release bench --preset smoke --gate

# The instructions of an arm, a move, a fire and a cancel of each face, against those of Benchmarks/instructions.txt, which WRITE=1
# renews. The same on a busy machine: no time is compared. Needs valgrind; half a minute once it is built.
instructions:  ## the instructions of each face's operations against the file's; needs valgrind, WRITE=1 renews the file
	$(SWIFT) build -c release --product CountedOperations
	Benchmarks/count-instructions $$($(SWIFT) build -c release --show-bin-path)/CountedOperations Benchmarks/instructions.txt \
	    $(if $(WRITE),--write)

# With an error where the library uses memory that Swift does not check, without `unsafe`.
STRICT = -Xswiftc -warnings-as-errors -Xcc -Werror=all -Xcc -Werror=extra

strict:  ## all of it with warnings as errors
	$(SWIFT) build --build-tests --scratch-path .build-strict $(STRICT)

sanitize: sanitize-thread sanitize-address sanitize-realtime  ## the three below

# A sanitizer sees as much in the first thousands of a model's random operations, which are ten times as slow under it.
FEWER = HRTIMER_MODEL_OPERATIONS=5000 HRTIMER_FIRES=5000

# Strict too, which spares CI a build of its own for that. Without the suites that have no thread of the library's.
sanitize-thread:  ## the tests under Thread Sanitizer
	$(FEWER) TSAN_OPTIONS="halt_on_error=1 suppressions=$(CURDIR)/Tests/thread-sanitizer.supp" \
	    $(TEST) --sanitize=thread $(STRICT) $(INFO) --scratch-path .build-tsan $(call but,^(BenchTests|HRTimerCalendarTests)\.)

# 10^5 random operations with deadlines, in task groups and outside, under both sanitizers; by hand: some minutes each.
deadline-rounds:  ## 10^5 random operations with deadlines under both sanitizers; by hand
	$(MAKE) sanitize-thread sanitize-address FEWER="HRTIMER_MODEL_OPERATIONS=100000" TESTS="--filter DeadlineScopeTests $(TESTS)"

# Leaks are counted by the tests themselves: LeakSanitizer cannot see through the side tables of weak references, and
# Foundation leaks every Timer of the tests that run beside it. A trap is the sanitizer's to report: Swift's backtracer reads
# stacks that it may not read under it, and both then wait for each other. Without the one module that has no C below it.
sanitize-address:  ## the tests under Address Sanitizer, with trapping UBSan for the C core
	$(FEWER) SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0:handle_sigill=1 \
	    $(call TESTS_ALONE,--sanitize=address $(UBSAN) $(INFO) --scratch-path .build-asan $(call but,^HRTimerCalendarTests\.))

# What is marked HRT_NONBLOCKING neither allocates, locks nor blocks: the compiler looks (-Wfunction-effects), and
# RealtimeSanitizer ends the process at the first call that might. Needs clang 20, as swift.org's toolchains have it since 6.2.
REALTIME_CLANG ?= clang
sanitize-realtime:  ## the C fire path under RealtimeSanitizer; needs clang 20
	@$(REALTIME_CLANG) -fsanitize=realtime -x c -fsyntax-only /dev/null || \
	    { echo "this clang has no RealtimeSanitizer: REALTIME_CLANG names clang 20 or newer"; exit 1; }
	mkdir -p .build && $(REALTIME_CLANG) -O1 -g -fsanitize=realtime -Werror=function-effects -ICSources/CHRTimer/include \
	    -std=gnu17 -D_GNU_SOURCE CSources/CHRTimer/queue/*.c CSources/CHRTimer/clock/hrt_spin_window.c \
	    CSources/CHRTimer/clock/hrt_spin_budget.c CSources/CHRTimer/thread/hrt_fork.c \
	    CSources/CHRTimer/histogram/hrt_histogram.c Tests/RealTime/fire_path.c -o .build/fire_path
	.build/fire_path

# 10^7 fires on frozen time, 10^5 on the real clocks with and without a storm of signals, and what a fire allocates: the
# optimized build, a minute or two once it is there.
never-early:  ## 10^7 fires on frozen time, 10^5 real ones under a storm of signals, allocations; optimized
	HRTIMER_FIRES=10000000 HRTIMER_REAL_FIRES=100000 $(TEST) $(OPTIMIZED) $(call only,NeverEarlyTests|FireCostTests)

# Reports of 10^6 fires on frozen time and 10^6 real ones: the parts of each add up within 2 µs, less than 5 % of the time is
# unexplained. Optimized; a minute or two once it is built.
lateness:  ## 10^6 late fires on frozen time and as many real ones: their parts add up
	HRTIMER_FIRES=1000000 $(TEST) $(OPTIMIZED) $(call only,LateFireTests|LatenessModelTests)
	$(SWIFT) build -c release --product bench
	$$($(SWIFT) build -c release --show-bin-path)/bench why sum --fires 1000000

# 10^6 rounds of cancelled sleeps in groups and async let, and of timeouts and ticks: optimized, as users have it.
sleep-races:  ## 10^6 rounds of cancelled sleeps, timeouts and ticks; optimized
	$(SWIFT) build -c release --product SleepRaces
	$$($(SWIFT) build -c release --show-bin-path)/SleepRaces $(ARGS)

# That Swift's runtime reads an `async let` task after the parent may have freed it, in a program that has no timer: holds the
# child there for a moment, in gdb. By hand; as long as it crashes, SleepRaces is written as it is.
async-let-fault:  ## a crash of Swift's runtime in async let, without any sleep; gdb, by hand
	mkdir -p .build && swiftc -O -parse-as-library Tests/AsyncLetFault/program.swift -o .build/async-let-fault
	gdb -nx -batch -x Tests/AsyncLetFault/hold.py .build/async-let-fault

# What other packages make of our clocks, and we of theirs: a package of its own, so that nobody else fetches them.
ECOSYSTEM = --package-path Tests/Ecosystem $(INFO) --scratch-path .build-ecosystem
ecosystem:  ## our clocks under swift-async-algorithms; ServiceLifecycle, Metrics and OpenCombine; the next executors
	$(TEST) $(ECOSYSTEM)
	$(if $(BUILD_ONLY),,for example in PeriodicWork SearchField NextProgram; do \
	    timeout 60 $$($(SWIFT) build $(ECOSYSTEM) --show-bin-path)/$$example || exit 1; done)

# The tests of swift-async-algorithms, checked out under the build folder: as they are, under HRTimerExecutors; their clocks
# replaced, on virtual time, by the seeds SEEDS.
SEEDS ?= 1 50
async-algorithms:  ## the tests of swift-async-algorithms under our executors and on virtual time; by hand
	SWIFT="$(SWIFT)" Tests/AsyncAlgorithms/run $(SEEDS)

# swift-service-lifecycle, swift-nio and hummingbird, cloned under the build folder, each with one site on HRTimerCore: their own tests with
# it and without, and what it gains. PACKAGES=swift-nio for one alone, which writes no file.
dependents:  ## three packages of others with one site each on HRTimerCore: their tests, what it gains; by hand
	SWIFT="$(SWIFT)" Tests/Dependents/run Benchmarks/Measured/dependents.json $(PACKAGES)

# Sets the system's wall clock 3 s ahead for some ms at a time, and back. Needs CAP_SYS_TIME.
clock-steps:  ## what setting the real wall clock does; as root
	HRTIMER_SET_CLOCK=1 $(SWIFT) test --disable-xctest --filter ClockContractTests

# The clocks' contract where boot time is 11 days ahead and the monotonic clock 5: none can be taken for another. Needs root.
time-namespace:  ## the clocks' contract with boot time days ahead; as root
	$(SWIFT) build --build-tests
	unshare --time --boottime 1000000 --monotonic 500000 --fork \
	    $(SWIFT) test --skip-build --disable-xctest --filter 'ClockContractTests|EngineClockTests|WaiterContractTests|ExecutorsTests'

lint:  ## swift format, clang-format, the widths of C, and what Tests/Lint looks for
	$(SWIFT) format lint --strict --recursive $(SOURCES)
	@find CSources Benchmarks Tests -name '*.[ch]' | LC_ALL=C.UTF-8 xargs awk 'length > 100 \
	    { print FILENAME ":" FNR ": " length " columns, more than 100"; long = 1 } END { exit long }'
	@command -v clang-format >/dev/null || { echo "lint: there is no clang-format: ./setup ci installs it"; exit 1; }
	@git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format --dry-run -Werror
	@! git grep -L SPDX-License-Identifier -- '*.swift' '*.c' '*.h' '*.cpp' '*.py' ':!Snippets' ':!*.docc/*' ':!Tests/Programs/AppsOn*' \
	    ':!Tests/Documentation' || { echo "lint: the files above do not name their licence"; exit 1; }
	@! grep -nE '^[a-z0-9-]+:[^=#]*$$' Makefile || { echo "Makefile: a target without a line for make help"; exit 1; }
	@Tests/Lint/arrows && Tests/Lint/circles && Tests/Lint/helpers && Tests/Lint/words && Tests/Lint/snippets && \
	    Tests/Lint/widths && Tests/Lint/porting && Tests/Lint/threads && Tests/Lint/virtual-time && Tests/NotLinux/condition && Tests/Lint/setup

format:  ## swift format and clang-format, in place
	$(SWIFT) format --in-place --recursive $(SOURCES)
	git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format -i

# Each file has a licence and a copyright (https://reuse.software), and the list of them as SPDX has it.
REUSE = .build/reuse/bin/reuse
$(REUSE):
	python3 -m venv .build/reuse && .build/reuse/bin/pip install --quiet reuse

reuse: $(REUSE)  ## whether each file has a licence, and .build/swift-hrtimer.spdx, the list of them
	$(REUSE) lint --quiet
	$(REUSE) spdx -o .build/swift-hrtimer.spdx

# 10^9 random operations on the timer queue against a sorted array: some three minutes. Then what a peak leaves resident.
model:  ## 10^9 random operations on the queue against a sorted array: some three minutes
	mkdir -p .build && clang -O2 $(QUEUE) Tests/Fuzz/queue_random.c -o .build/queue_random
	.build/queue_random 1000000000
	clang -O2 $(filter-out $(MODEL),$(QUEUE)) Tests/Fuzz/queue_memory.c -o .build/queue_memory
	.build/queue_memory

# 10^7 of them, for CI, and 10^6 random operations and calls of engines, loops and sources against sorted lists, optimized.
model-short:  ## 10^7 of them, and 10^6 on engines, loops and sources; optimized
	mkdir -p .build && clang -O2 $(QUEUE) Tests/Fuzz/queue_random.c -o .build/queue_random
	.build/queue_random 10000000
	HRTIMER_MODEL_OPERATIONS=1000000 $(TEST) $(OPTIMIZED) \
	    $(call only,(Engine|Loop|Source|FiringOrder)ModelTests|TimerSourceKeepAliveTests/model)

# 10^6 refreshes of displays against counting them one by one, optimized; by hand.
model-display:  ## 10^6 refreshes of displays against counting them; optimized, by hand
	HRTIMER_MODEL_OPERATIONS=1000000 $(TEST) $(OPTIMIZED) $(call only,DisplayModelTests)

# Wake latencies recorded on another machine, idle, busy and changing, replayed through the spin window in virtual time: the regret of
# each against the best fixed margin, and what becomes of it with each constant of hrt_spin_window.c halved and doubled. Seconds.
replay:  ## recorded wake latencies through the spin window, with each of its constants halved and doubled
	Tests/Replay/run

# What threads do without a lock, or to make one, as models: every order of their steps is tried, in seconds. Needs spin and a C
# compiler.
protocols:  ## what threads do without a lock, as models whose every order of steps is tried; needs spin
	Tests/Protocols/run

# Bytes as scripts of operations and steps of time, for a minute. Few moves a call and small chunks, so that bounded work and trimming are seen at small sizes.
fuzz:  ## the queue under libFuzzer, for a minute
	mkdir -p .build && clang -O1 -g -fsanitize=fuzzer,address,undefined -DHRT_MOVES_PER_CALL=3 -DHRT_CHUNK_BITS=4 \
	    $(QUEUE) Tests/Fuzz/queue_fuzz.c -o .build/queue_fuzz
	.build/queue_fuzz -max_total_time=60 -max_len=8192

# The C core for another machine, under its emulator, with pages of 4 and of 64 KiB told to it. Needs gcc-aarch64-linux-gnu
# and qemu-user.
ARM64_CC ?= aarch64-linux-gnu-gcc
ARM64_RUN ?= qemu-aarch64 -L /usr/aarch64-linux-gnu
CORE = CSources/CHRTimer/clock/*.c CSources/CHRTimer/histogram/*.c CSources/CHRTimer/wait/*.c \
    CSources/CHRTimer/thread/*.c -ICSources/CHRTimer/include \
    -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread

arm64:  ## the C core for arm64, in an emulator
	mkdir -p .build
	for page_bytes in 4096 65536; do \
	    $(ARM64_CC) -O2 -Wall -Wextra -Werror -DHRT_PAGE_BYTES=$$page_bytes $(QUEUE) Tests/Fuzz/queue_random.c \
	        -o .build/queue_random.arm64 && timeout 300 $(ARM64_RUN) .build/queue_random.arm64 1000000 || exit 1; done
	$(ARM64_CC) -O2 $(CORE) Tests/Arm64/core_checks.c -o .build/core_checks.arm64
	timeout 60 $(ARM64_RUN) .build/core_checks.arm64

# The C core with musl, as the Static Linux SDK has it, and without libevent: its checks, the queue against a sorted array, and
# a loop on its own epoll set. All other C of the library compiles. Needs musl-tools; the kernel's headers are the system's.
MUSL_CC ?= musl-gcc
MUSL_FLAGS = -static -idirafter /usr/include -idirafter /usr/include/$$(gcc -print-multiarch) -std=gnu17 -D_GNU_SOURCE \
    -Wall -Wextra -Werror -Wno-attributes
musl:  ## the C core with musl: its checks, the queue's model, a loop
	mkdir -p .build/musl
	$(MUSL_CC) -O2 $(MUSL_FLAGS) $(QUEUE) Tests/Fuzz/queue_random.c -o .build/musl/queue_random && .build/musl/queue_random 1000000
	$(MUSL_CC) -O2 $(MUSL_FLAGS) $(CORE) Tests/Arm64/core_checks.c -o .build/musl/core_checks && .build/musl/core_checks
	$(MUSL_CC) -O2 $(MUSL_FLAGS) $(CORE) -ICSources/CHRLoop/include CSources/CHRLoop/*.c Tests/Loop/loop_checks.c -o .build/musl/loop_checks && \
	    .build/musl/loop_checks
	for file in CSources/CVsync/*.c CSources/CVsync/*/*.c CSources/CTaskScope/*.c CSources/CEnqueueHook/*.c CSources/CRealtimeKit/*.c; do \
	    $(MUSL_CC) $(MUSL_FLAGS) -Wno-array-bounds -ICSources/CHRTimer/include -ICSources/CVsync/include -ICSources/CTaskScope/include -ICSources/CEnqueueHook/include \
	        -c $$file -o .build/musl/other.o || exit 1; done

# Each public header of the C targets by itself, as C17 and as C++17, with gcc and clang where they are found.
c-headers:  ## each public C header by itself, as C and as C++, with gcc and clang
	Tests/CHeaders/run .build/c-headers

# The queue and the waits from C alone, without libevent: an example that checks itself.
c-example:  ## the example in C: a queue and precise waits, without Swift and libevent
	mkdir -p .build && for cc in gcc clang; do if command -v $$cc >/dev/null; then echo "$$cc:"; \
	    $$cc -O2 -Wall -Wextra -Werror -std=gnu17 -D_GNU_SOURCE -ICSources/CHRTimer/include CSources/CHRTimer/*/*.c Examples/C/timers.c \
	        -pthread -lm -o .build/c-example-$$cc && timeout 60 .build/c-example-$$cc || exit 1; fi; done

# The library with another Swift: without each part that relies on what Swift does not promise, with a runtime that lies, and on the
# interface for executors that may follow. Four builds below .build-future: minutes after a change of the library.
future:  ## the library without what Swift does not promise, with a runtime that lies, on the next executors; by hand
	SWIFT="$(SWIFT)" Tests/Future/run .build-future

# Plugins with a copy of the C core each: all can be loaded.
plugins:  ## that plugins with a copy of the C core each can be loaded, twenty in one process
	Tests/Plugins/run .build/plugins

# Loops under the main loops of others. Needs libglib2.0-dev, libuv1-dev and libsdl2-dev.
HOSTS = --package-path Examples/Hosts $(INFO) --scratch-path .build-hosts
hosts:  ## loops under GLib, libuv, SDL and a loop of frames; needs their headers
	$(TEST) $(HOSTS)
	$(if $(BUILD_ONLY),,for example in LoopInGLib LoopInLibuv LoopInSDL LoopInFrames; do \
	    timeout 60 $$($(SWIFT) build $(HOSTS) --show-bin-path)/$$example || exit 1; done)

# Without the trait Libevent: the suites of loops, waits and executors, on an epoll set of our own; and a program that does
# not load libevent.
without-libevent:  ## the suites of loops without the trait Libevent, on an epoll set of our own
	$(call TESTS_ALONE,$(OPTIMIZED) $(call only,Loop|RunTests|Serve|Host|Waiter|Wake|Perform|Refused|MainThread))
	$(SWIFT) build $(OPTIMIZED) --product GameLoop
	ldd .build-without-libevent/release/GameLoop > .build-without-libevent/loaded.txt
	! grep libevent .build-without-libevent/loaded.txt

# On a Mac the package compiles to nothing: the same with its conditions turned round.
not-linux:  ## that the package compiles to nothing elsewhere
	Tests/NotLinux/run .build/not-linux

# The DRM source on a real kernel, emulated: see Tests/Vkms/run, which says what it needs. By hand.
VKMS ?= .build/vkms
vkms:  ## the DRM source on a real kernel in an emulator, with a card without hardware; by hand
	Tests/Vkms/run $(VKMS)
