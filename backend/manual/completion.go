package manual

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Completion returns a script for bash, zsh or else fish that completes commands and
// flags. words are what else may follow a command, by its path; such a word may be a part of a
// further path. Elsewhere the shell completes file names.
func Completion(app *kong.Application, shell string, words map[string][]string) string {
	switch shell {
	case "bash":
		return script(bash, app, words)
	case "zsh":
		return script(zsh, app, words)
	}
	return fish(app, words)
}

// The scripts of bash and zsh find the command that the words so far select, and print
// what may follow it.
const (
	bash = `# bash completion of @NAME, written by: @NAME completion bash
@WORDS
_@NAME() {
	local path= word i
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case " $(_@NAME_words commands "$path") " in
		*" $word "*) path=${path:+$path }$word ;;
		esac
	done
	word=${COMP_WORDS[COMP_CWORD]}
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_@NAME_words flags "$path")" -- "$word") ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$(_@NAME_words commands "$path")" -- "$word") ;;
	esac
}
complete -o default -F _@NAME @NAME
`
	zsh = `#compdef @NAME
# zsh completion of @NAME, written by: @NAME completion zsh
@WORDS
_@NAME() {
	local path_= word kind=commands
	for word in "${(@)words[2,CURRENT-1]}"; do
		case " $(_@NAME_words commands "$path_") " in
		*" $word "*) path_=${path_:+$path_ }$word ;;
		esac
	done
	[[ $words[CURRENT] == -* ]] && kind=flags
	local -a answers=(${=$(_@NAME_words $kind "$path_")})
	if (( $#answers )); then
		compadd -a answers
	else
		_files
	fi
}
if [ "$funcstack[1]" = "_@NAME" ]; then
	_@NAME "$@"
else
	compdef _@NAME @NAME
fi
`
)

// script fills in a script for bash or zsh.
func script(text string, app *kong.Application, further map[string][]string) string {
	var words strings.Builder
	fmt.Fprintf(&words, "_%s_words() {\n\tcase \"$1 $2\" in\n", app.Name)
	for _, n := range nodes(app) {
		if names := commands(n); len(names) > 0 {
			fmt.Fprintf(&words, "\t'commands %s') echo '%s' ;;\n", path(n), strings.Join(names, " "))
		}
		var names []string
		for _, f := range flags(n) {
			names = append(names, "--"+f.Name)
		}
		pattern := "'flags " + path(n) + "'"
		for _, at := range below(path(n), further) {
			fmt.Fprintf(&words, "\t'commands %s') echo '%s' ;;\n", at, strings.Join(further[at], " "))
			pattern += "|'flags " + at + "'*"
		}
		fmt.Fprintf(&words, "\t%s) echo '%s' ;;\n", pattern, strings.Join(names, " "))
	}
	words.WriteString("\tesac\n}")
	return strings.NewReplacer("@NAME", app.Name, "@WORDS", words.String()).Replace(text)
}

// below returns the paths of further words that begin with a command.
func below(command string, further map[string][]string) (all []string) {
	for _, at := range slices.Sorted(maps.Keys(further)) {
		if command != "" && (at == command || strings.HasPrefix(at, command+" ")) {
			all = append(all, at)
		}
	}
	return all
}

// fish returns the script for fish, which also shows what each command does.
func fish(app *kong.Application, further map[string][]string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# fish completion of %[1]s, written by: %[1]s completion fish\nset -g __%[1]s_commands", app.Name)
	all := nodes(app)
	for _, n := range all[1:] {
		fmt.Fprintf(&out, " %s", quote(path(n)))
	}
	for _, at := range slices.Sorted(maps.Keys(further)) {
		fmt.Fprintf(&out, " %s", quote(at))
	}
	fmt.Fprintf(&out, `
function __%[1]s_at
	set -l found ''
	for word in (commandline -opc)[2..]
		set -l longer (string trim -- "$found $word")
		contains -- $longer $__%[1]s_commands; and set found $longer
	end
	test "$found" = "$argv[1]"
end
`, app.Name)
	condition := func(path string) string {
		return "complete -c " + app.Name + " -n " + quote("__"+app.Name+"_at "+quote(path))
	}
	for _, at := range slices.Sorted(maps.Keys(further)) {
		fmt.Fprintf(&out, "%s -f -a %s\n", condition(at), quote(strings.Join(further[at], " ")))
	}
	for _, n := range all {
		at := condition(path(n))
		for _, child := range n.Children {
			if !child.Hidden {
				fmt.Fprintf(&out, "%s -f -a %s -d %s\n", at, child.Name, quote(child.Help))
			}
		}
		for _, f := range flags(n) {
			takes := " -r"
			if f.IsBool() || f.Name == "help" {
				takes = ""
			}
			fmt.Fprintf(&out, "%s -l %s%s -d %s\n", at, f.Name, takes, quote(f.Help))
		}
	}
	return out.String()
}

// quote returns a text as a word of fish.
func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
