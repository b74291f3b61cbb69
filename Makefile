# The only spelling of: build, test, sanitize, lint, format, bench. `make bench ARGS="--preset smoke"` passes options on.
SWIFT ?= swift
ARGS ?=
SOURCES = Package.swift Sources Tests Benchmarks Snippets
# Undefined behaviour in C traps at once; the full runtime of UBSan is not part of Swift's toolchain.
UBSAN = -Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined

.PHONY: build test bench smoke strict sanitize sanitize-thread sanitize-address lint format

build:
	$(SWIFT) build

test:
	$(SWIFT) test --disable-xctest

bench:
	$(SWIFT) run -c release bench $(ARGS)

# Gates on counts, never on microseconds: nothing early, no descriptor and no timer left.
smoke:
	$(SWIFT) run -c release bench --preset smoke --gate

strict:
	$(SWIFT) build --build-tests --scratch-path .build-strict -Xswiftc -warnings-as-errors \
	    -Xcc -Wall -Xcc -Wextra -Xcc -Werror

sanitize: sanitize-thread sanitize-address

sanitize-thread:
	TSAN_OPTIONS=halt_on_error=1 $(SWIFT) test --disable-xctest --sanitize=thread --scratch-path .build-tsan

sanitize-address:
	$(SWIFT) test --disable-xctest --sanitize=address $(UBSAN) --scratch-path .build-asan

lint:
	$(SWIFT) format lint --strict --recursive $(SOURCES)

format:
	$(SWIFT) format --in-place --recursive $(SOURCES)
