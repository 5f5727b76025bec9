# Completions of orrery for fish: orrery completion fish | source
function __orrery_pids
    for socket in $XDG_RUNTIME_DIR/orrery/*.sock /tmp/orrery-(id -u)/*.sock
        basename $socket .sock
    end
end
complete -c orrery -n __fish_use_subcommand -f -a 'dump stats trace journal sim lint completion help'
complete -c orrery -n '__fish_seen_subcommand_from dump stats trace' -f -a '(__orrery_pids)'
complete -c orrery -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'
complete -c orrery -l json -d 'one JSON document'
complete -c orrery -l help -d 'explain the command'
complete -c orrery -n '__fish_seen_subcommand_from journal' -l tree -d 'who caused what'
complete -c orrery -n '__fish_seen_subcommand_from stats' -l watch -d 'again and again'
