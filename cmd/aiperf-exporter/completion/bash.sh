# Completion of aiperf-exporter for bash.
#   now:    source <(aiperf-exporter completion bash)
#   always: aiperf-exporter completion bash >/etc/bash_completion.d/aiperf-exporter

_aiperf_exporter() {
    local i kind text about value last strip
    local -a words=() found=()
    COMPREPLY=()
    # Bash cuts words at "=" and ":", too: they belong together.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        if ((i > 1)) && [[ ${COMP_WORDS[i]} == [=:]* || (${COMP_WORDS[i - 1]} == [=:] && ${COMP_WORDS[i]} != --*) ]]; then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
        fi
    done
    # What is replaced is what stands behind the last cut.
    last=${COMP_WORDS[COMP_CWORD]}
    [[ $last == [=:]* ]] && last=""
    value=${words[${#words[@]} - 1]}
    [[ $value == --*=* ]] && value=${value#*=}
    strip=${value%"$last"}

    while IFS=$'\t' read -r text about; do
        if [[ -z $kind ]]; then
            kind=$text
        else
            found+=("$text")
        fi
    done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete -- "${words[@]}" 2>/dev/null)
    case $kind in
    files | folders)
        compopt -o filenames 2>/dev/null
        local how=-f
        [[ $kind == folders ]] && how=-d
        while IFS= read -r text; do
            found+=("$text")
        done < <(compgen "$how" -- "$value")
        ;;
    esac
    for text in "${found[@]}"; do
        COMPREPLY+=("${text#"$strip"}")
    done
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null # the value comes behind it
    fi
}

complete -F _aiperf_exporter aiperf-exporter
