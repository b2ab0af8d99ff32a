#compdef aiperf-exporter
# Completion of aiperf-exporter for zsh.
#   now:    source <(aiperf-exporter completion zsh)
#   always: aiperf-exporter completion zsh >"${fpath[1]}/_aiperf-exporter"

_aiperf_exporter() {
    local -a lines open closed
    local line text about kind
    lines=("${(@f)$("${~words[1]}" __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    kind=$lines[1]
    [[ $PREFIX == --*=* ]] && compset -P '*='
    case $kind in
    files) _files ;;
    folders) _files -/ ;;
    words)
        for line in "${(@)lines[2,-1]}"; do
            text=${line%%$'\t'*}
            about=${line#*$'\t'}
            if [[ $text == *= ]]; then
                open+=("${text//:/\\:}${about:+:$about}")
            else
                closed+=("${text//:/\\:}${about:+:$about}")
            fi
        done
        _describe -t values value closed -- open -S ''
        ;;
    esac
}

if [[ $funcstack[1] == _aiperf-exporter ]]; then
    _aiperf_exporter "$@"
elif (( $+functions[compdef] )); then
    compdef _aiperf_exporter aiperf-exporter
fi
