/* SPDX-License-Identifier: Apache-2.0 */
/* Completions: commands, their options, files, and the processes that can be looked at (those with
 * a socket, see docs/tools.md). */
#include "completion.h"

#include <stddef.h>
#include <string.h>

static const char bash[] =
    "# Completions of orrery for bash: source <(orrery completion bash)\n"
    "_orrery_pids() {\n"
    "    local folder socket\n"
    "    for folder in \"${XDG_RUNTIME_DIR:-/nowhere}/orrery\" \"/tmp/orrery-$UID\"; do\n"
    "        for socket in \"$folder\"/*.sock; do\n"
    "            [ -S \"$socket\" ] && basename \"$socket\" .sock\n"
    "        done\n"
    "    done\n"
    "}\n"
    "_orrery() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options=\n"
    "    COMPREPLY=()\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        COMPREPLY=($(compgen -W 'dump stats trace journal sim lint completion help' -- "
    "\"$word\"))\n"
    "        return\n"
    "    fi\n"
    "    case $command in\n"
    "    dump) options='--json --no-backtraces --verbose --help' ;;\n"
    "    stats) options='--json --watch --count --help' ;;\n"
    "    trace) options='--for --output --json --help' ;;\n"
    "    journal) options='--tree --kind --task --json --help' ;;\n"
    "    sim) options='--seed --seeds --keep-going --journal --json --help' ;;\n"
    "    lint) options='-p --rule --list --explain --pauses --json --help' ;;\n"
    "    completion) options='bash zsh fish' ;;\n"
    "    help) options='dump stats trace journal sim lint' ;;\n"
    "    esac\n"
    "    case $command:$word in\n"
    "    *:-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
    "    completion:* | help:*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
    "    dump:* | stats:*) COMPREPLY=($(compgen -W \"$(_orrery_pids)\" -- \"$word\")) ;;\n"
    "    trace:*) COMPREPLY=($(compgen -W \"$(_orrery_pids)\" -- \"$word\") $(compgen -f -- "
    "\"$word\")) ;;\n"
    "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
    "    esac\n"
    "}\n"
    "complete -o filenames -F _orrery orrery\n";

static const char zsh[] = "#compdef orrery\n"
                          "# Completions of orrery for zsh: source <(orrery completion zsh)\n"
                          "autoload -U +X bashcompinit && bashcompinit\n"
                          "source <(orrery completion bash)\n";

static const char fish[] =
    "# Completions of orrery for fish: orrery completion fish | source\n"
    "function __orrery_pids\n"
    "    for socket in $XDG_RUNTIME_DIR/orrery/*.sock /tmp/orrery-(id -u)/*.sock\n"
    "        basename $socket .sock\n"
    "    end\n"
    "end\n"
    "complete -c orrery -n __fish_use_subcommand -f -a 'dump stats trace journal sim lint "
    "completion help'\n"
    "complete -c orrery -n '__fish_seen_subcommand_from dump stats trace' -f -a "
    "'(__orrery_pids)'\n"
    "complete -c orrery -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
    "complete -c orrery -l json -d 'one JSON document'\n"
    "complete -c orrery -l help -d 'explain the command'\n"
    "complete -c orrery -n '__fish_seen_subcommand_from journal' -l tree -d 'who caused what'\n"
    "complete -c orrery -n '__fish_seen_subcommand_from stats' -l watch -d 'again and again'\n";

const char *completion_for(const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        return bash;
    }
    if (strcmp(shell, "zsh") == 0) {
        return zsh;
    }
    return strcmp(shell, "fish") == 0 ? fish : NULL;
}
