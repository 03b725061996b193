#!/bin/sh
# links.sh SOURCE_DIR: checks that every relative link and anchor in Markdown files exists, every source file that a
# page names with its folder, and every path of a Markdown file in other text. Prints FILE:LINE of each error.
set -eu
cd "${1:?source directory}"
if git ls-files >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard
else
    find . -type f ! -path './build/*' ! -path './out/*' ! -path './.*' | sed 's|^\./||'
fi | sort -u | while read -r path; do [ ! -f "$path" ] || echo "$path"; done | LC_ALL=C awk '
# Resolves "." and ".." in a path.
function resolve(path,   part, n, i, depth, stack) {
    n = split(path, part, "/")
    depth = 0
    for (i = 1; i <= n; i++) {
        if (part[i] == "" || part[i] == ".") continue
        if (part[i] == "..") { if (depth > 0) depth--; continue }
        stack[++depth] = part[i]
    }
    path = ""
    for (i = 1; i <= depth; i++) path = path (i > 1 ? "/" : "") stack[i]
    return path
}

# Returns the anchor that GitHub gives a heading: lower case, words joined by hyphens, no punctuation.
function anchor(heading) {
    sub(/^#+[ \t]+/, "", heading)
    sub(/[ \t]+#*[ \t]*$/, "", heading)
    gsub(/\]\([^)]*\)/, "", heading)
    heading = tolower(heading)
    gsub(/\342\200[\223\224\230\231\234\235\246]|\302[\260\261\262\263\267]|\303\227|\342\210\222/, "", heading)
    gsub(/[^a-z0-9_ \200-\377-]/, "", heading)
    gsub(/ /, "-", heading)
    return heading
}

# Collects the anchors of a Markdown file; a repeated heading gets -1, -2, ...
function read_anchors(file,   line, fenced, name) {
    while ((getline line < file) > 0) {
        if (line ~ /^ *```/) fenced = !fenced
        if (fenced) continue
        if (line ~ /^#+[ \t]/) {
            name = anchor(line)
            if ((file, name) in repeats) name = name "-" (++repeats[file, name])
            else repeats[file, name] = 0
            anchors[file "#" name] = 1
        }
        if (match(line, /<a (id|name)="[^"]*"/)) {
            name = substr(line, RSTART, RLENGTH)
            gsub(/^[^"]*"|"$/, "", name)
            anchors[file "#" name] = 1
        }
    }
    close(file)
}

function check(file, number, base, target,   path, hash, part) {
    hash = index(target, "#")
    path = hash ? substr(target, 1, hash - 1) : target
    part = hash ? substr(target, hash + 1) : ""
    path = path == "" ? file : resolve(path ~ /^\// ? path : base path)
    checked++
    if (path != "" && !(path in known)) {
        printf "%s:%d: %s: no such file\n", file, number, target
        wrong++
    } else if (part != "" && path ~ /\.md$/ && !((path "#" part) in anchors)) {
        printf "%s:%d: %s: no such heading in %s\n", file, number, target, path
        wrong++
    }
}

function check_markdown(file,   line, number, base, fenced, target) {
    base = file
    if (!sub(/[^\/]*$/, "", base)) base = ""
    while ((getline line < file) > 0) {
        number++
        if (line ~ /^ *```/) fenced = !fenced
        if (fenced) continue
        check_sources(file, number, line)
        gsub(/`[^`]*`/, "`", line)
        while (match(line, /\]\([^() ]*(\([^()]*\))?[^() ]*( "[^"]*")?\)|^\[[^]]*\]:[ ]+[^ ]+/)) {
            target = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (target ~ /^\[/) sub(/^\[[^]]*\]:[ ]+/, "", target)
            else target = substr(target, 3, length(target) - 3)
            sub(/ ".*$/, "", target)
            if (target !~ /^[a-z]+:/) check(file, number, base, target)
        }
    }
    close(file)
}

# Checks names of source files that stand in backticks in a page, such as `rdp/exact.c`.
function check_sources(file, number, line,   target) {
    while (match(line, /`(src|rdp|nvib|vib|dchi|include|tests|scripts|python)\/[A-Za-z0-9_.\/-]*\.(c|h|inc|py|sh|txt|cmake)`/)) {
        target = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        check(file, number, "", target)
    }
}

# Checks paths from the top of the repository, such as docs/privacy.md#bayesian-dp.
function check_mentions(file,   line, number, target) {
    while ((getline line < file) > 0) {
        number++
        while (match(line, /(docs|experiments|notebooks|models)\/[A-Za-z0-9_.\/-]*\.md(#[a-z0-9_-]+)?/)) {
            target = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            check(file, number, "", target)
        }
    }
    close(file)
}

{
    known[$0] = 1
    files[++count] = $0
    for (path = $0; sub(/\/[^\/]*$/, "", path); ) known[path] = 1
    if ($0 ~ /\.md$/) read_anchors($0)
}
END {
    for (i = 1; i <= count; i++) {
        if (files[i] ~ /\.md$/) check_markdown(files[i])
        else if (files[i] ~ /\.(c|h|inc|py|sh|cmake|ipynb|toml|json)$|Makefile$|CMakeLists.txt$/) check_mentions(files[i])
    }
    printf "%d links checked, %d wrong\n", checked, wrong
    exit wrong > 0 || checked < 100
}'
