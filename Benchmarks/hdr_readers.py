#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the histograms of a result into the reference histogram of Python (hdrhistogram), and holds against them the percentiles
of the result and the .hgrm files that `bench report` made of it. Usage: hdr_readers.py result.json DIRECTORY-OF-HGRM"""
import json
import pathlib
import sys

from hdrh.histogram import HdrHistogram


def name_of(row):
    """As the exports name a row: id@interval, with a unit."""
    ns = row["interval_ns"]
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns / size < 999.5:
            break
    value = ns / size
    decimals = 0 if size == 1 else 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{row['id']}@{value:.{decimals}f}{unit}"


def histogram_of(name, row):
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for low, count in row["histogram"]:
        histogram.record_value(max(0, low), count)
    assert histogram.get_total_count() == row["n"], name
    for key, percent in (("p50", 50), ("p90", 90), ("p99", 99)):
        exact = row["lateness_ns"][key]
        if exact is not None and exact > 0:
            read = histogram.get_value_at_percentile(percent)
            assert abs(read - exact) <= max(1, exact / 1000), (name, key, read, exact)
    return histogram


def check_percentiles(name, histogram, path):
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"], name
    for value_us, share, seen, *_ in lines[1:]:
        value_ns = round(float(value_us) * 1000)
        counted = sum(item.count_added_in_this_iter_step for item in histogram.get_recorded_iterator()
                      if item.value_iterated_to <= value_ns)
        here = histogram.get_count_at_value(value_ns)
        assert counted == int(seen), (name, value_us, seen, counted)
        # The first bucket with which so large a share is reached; shares are printed with twelve decimals.
        wanted = float(share) * histogram.get_total_count()
        assert counted - here - 1e-6 <= wanted <= counted + 1e-6, (name, share, counted, here)
    assert int(lines[-1][2]) == histogram.get_total_count(), name
    return len(lines) - 1


def main():
    result, directory = sys.argv[1:]
    measured = [row for row in json.loads(pathlib.Path(result).read_text())["results"] if row["n"] > 0]
    rows = {name_of(row): row for row in measured}
    assert rows, "the result has no fires"
    histograms = {name: histogram_of(name, row) for name, row in rows.items()}
    levels = sum(check_percentiles(name, histograms[name], pathlib.Path(directory) / f"{name}.hgrm") for name in rows)
    print(f"hdrhistogram has {len(rows)} histograms of the result, and {levels} levels of the percentile files: all agree")


if __name__ == "__main__":
    main()
