# Completion of aiperf-exporter for fish.
#   now:    aiperf-exporter completion fish | source
#   always: aiperf-exporter completion fish >~/.config/fish/completions/aiperf-exporter.fish

function __aiperf_exporter_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -l lines ($program __complete -- $words[2..-1] "$token" 2>/dev/null)
    # A value behind "=" is completed with what is before it.
    set -l before (string match -r -- '^--[^=]*=' "$token")
    set -l value (string replace -r -- '^--[^=]*=' '' "$token")
    set -l found
    switch "$lines[1]"
        case files
            set found (__fish_complete_path "$value")
        case folders
            set found (__fish_complete_directories "$value" '')
        case '*'
            set found $lines[2..-1]
    end
    for each in $found
        printf '%s%s\n' "$before" "$each"
    end
end

complete -c aiperf-exporter -e
complete -c aiperf-exporter -f -a '(__aiperf_exporter_complete)'
