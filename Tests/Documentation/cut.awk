# SPDX-License-Identifier: Apache-2.0
# Cuts the code out of the README and out of doc comments, each piece into a file of its own, in a function of its own:
#
#     awk -v folder=DIRECTORY -f Tests/Documentation/cut.awk README.md Sources/HRTimer/….swift
#
# Code is what stands between ```swift and ``` in Markdown, and what is set in by five blanks, after an empty line, in the doc comment
# of something public or of an extension; pictures of deadlines are not. An ellipsis stands for any code, here for none.

function begin() { code = ""; line = FNR; isCode = 1 }

function finish(    name, head, body, plain, i, count, lines, imports) {
    isCode = 0
    if (code !~ /[^ \n]/ || code ~ /\|    \|/) return
    number++
    name = FILENAME
    gsub(/[^A-Za-z0-9]+/, "_", name)
    head = body = plain = ""
    count = split(code, lines, "\n")
    for (i = 1; i <= count; i++) {
        if (lines[i] ~ /^ *import /) {
            head = head lines[i] "\n"
            body = body "\n"
        } else {
            body = body lines[i] "\n"
            sub(/\/\/.*/, "", lines[i])
            plain = plain lines[i] "\n"
        }
    }
    gsub(/…/, " ", body)
    # A program's entry is a type like any other here.
    gsub(/@main /, "", body)
    # So is a test a function.
    gsub(/@Test(\([^)]*\))? /, "", body)
    imports = "HRTimer HRTimerTesting HRTimerCalendar HRTimerExecutors Testing Dispatch Glibc "
    imports = imports (FILENAME ~ /Compat/ ? "FoundationEssentials" : "Foundation")
    if (FILENAME ~ /Compat/) head = head "import class HRTimerCompat.Timer\nimport class HRTimerCompat.CADisplayLink\n"
    file = sprintf("%s/%03d_%s.swift", folder, number, name)
    count = split(imports, lines, " ")
    for (i = 1; i <= count; i++) printf "import %s\n", lines[i] > file
    printf "%s\nextension %s {\nfunc documentation_%d() %sthrows {\n", head, (FILENAME ~ /Compat/ ? "Owner" : "Reader"), number, (plain ~ /await / ? "async " : "") > file
    printf "#sourceLocation(file: \"%s\", line: %d)\n%s#sourceLocation()\n}\n}\n", FILENAME, line, body > file
    close(file)
}

# A comment is over: is what it belongs to public?
function settle(isPublic,    i) {
    for (i = 1; i <= pending; i++) {
        if (!isPublic) continue
        code = pieces[i]
        line = places[i]
        finish()
    }
    pending = 0
}

FNR == 1 { isCode = 0; pending = 0; inComment = 0; wasEmpty = 0 }

END { if (number < 40) { print "only " number + 0 " pieces of code were found"; exit 1 } }

FILENAME ~ /\.md$/ {
    if (!isCode && /^```swift$/) { begin(); line = FNR + 1; next }
    if (isCode && /^```$/) { finish(); next }
    if (isCode) code = code $0 "\n"
    next
}

/^ *\/\/\// {
    text = $0
    sub(/^ *\/\/\//, "", text)
    if (text ~ /^     / && (isCode || wasEmpty) || (isCode && text ~ /^ *$/)) {
        if (!isCode) begin()
        code = code substr(text, 6) "\n"
    } else if (isCode) {
        isCode = 0
        pieces[++pending] = code
        places[pending] = line
    }
    wasEmpty = text ~ /^ *$/ || isCode
    inComment = 1
    next
}

inComment {
    if (isCode) { isCode = 0; pieces[++pending] = code; places[pending] = line }
    # Attributes may stand between.
    if (/^ *@[a-z]/ && !/(public|extension|case|func|init)/) next
    settle(/public|^ *extension|^ *case /)
    inComment = wasEmpty = 0
}
