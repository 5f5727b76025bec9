# Completions of orrery for bash: source <(orrery completion bash)
_orrery_pids() {
    local folder socket
    for folder in "${XDG_RUNTIME_DIR:-/nowhere}/orrery" "/tmp/orrery-$UID"; do
        for socket in "$folder"/*.sock; do
            [ -S "$socket" ] && basename "$socket" .sock
        done
    done
}
_orrery() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W 'dump stats trace journal sim lint completion help' -- "$word"))
        return
    fi
    case $command in
    dump) options='--json --no-backtraces --verbose --help' ;;
    stats) options='--json --watch --count --help' ;;
    trace) options='--for --output --json --help' ;;
    journal) options='--tree --kind --task --json --help' ;;
    sim) options='--seed --seeds --keep-going --journal --json --help' ;;
    lint) options='-p --rule --list --explain --pauses --json --help' ;;
    completion) options='bash zsh fish' ;;
    help) options='dump stats trace journal sim lint' ;;
    esac
    case $command:$word in
    *:-*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    completion:* | help:*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    dump:* | stats:*) COMPREPLY=($(compgen -W "$(_orrery_pids)" -- "$word")) ;;
    trace:*) COMPREPLY=($(compgen -W "$(_orrery_pids)" -- "$word") $(compgen -f -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -o filenames -F _orrery orrery
