#!/bin/bash
# completion.sh FILE: checks the completions of bash for some command lines.
set -eu
source "$1"
check() { # EXPECTED WORD...: completes the last word
    local expected=$1
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _nvdp
    [ "${COMPREPLY[*]-}" = "$expected" ] && return
    echo "$*: expected '$expected', found '${COMPREPLY[*]-}'" >&2
    exit 1
}
check 'train' nvdp trai
check '--method' nvdp train --meth
check 'vib-fixed vib-learned' nvdp train --method vi
check 'nvdp' nvdp train --method = nv
check '--certify' nvdp privacy --cert
check '' nvdp train --seed ''
