package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Man returns the man page, in the language of man(7). Flags that several commands have
// are described once.
func Man(app *kong.Application, version string) string {
	var out strings.Builder
	name := strings.ToUpper(app.Name)
	fmt.Fprintf(&out, ".TH %s 1 \"\" \"%s\"\n.SH NAME\n%s \\- %s\n", name, roff(app.Name+" "+version), app.Name, roff(strings.TrimSuffix(app.Help, ".")))
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.B %s\n.I command\n[\\fIflags\\fR]\n", app.Name)
	out.WriteString(".SH COMMANDS\n")
	have := map[string]int{}
	leaves := app.Leaves(true)
	for _, n := range leaves {
		for _, f := range flags(n) {
			have[key(f)]++
		}
	}
	var shared []*kong.Flag
	seen := map[string]bool{}
	for _, n := range leaves {
		fmt.Fprintf(&out, ".SS %s %s\n%s\n", app.Name, roff(path(n)), roff(n.Help))
		if n.Detail != "" {
			fmt.Fprintf(&out, ".PP\n%s\n", roff(strings.TrimSpace(n.Detail)))
		}
		for _, p := range n.Positional {
			fmt.Fprintf(&out, ".TP\n.I %s\n%s\n", roff(p.Name), roff(p.Help))
		}
		var also []string
		for _, f := range flags(n) {
			switch {
			case have[key(f)] == 1:
				flag(&out, f)
			case have[key(f)] < len(leaves):
				also = append(also, `\fB`+roff("--"+f.Name)+`\fR`)
			}
			if have[key(f)] > 1 && !seen[key(f)] {
				seen[key(f)] = true
				shared = append(shared, f)
			}
		}
		if len(also) > 0 {
			fmt.Fprintf(&out, ".PP\nAlso %s.\n", strings.Join(also, ", "))
		}
	}
	out.WriteString(".SH FLAGS OF SEVERAL COMMANDS\n")
	for _, f := range shared {
		flag(&out, f)
	}
	out.WriteString(".SH EXIT STATUS\n0 if the command succeeded, 1 if it failed, 2 if the command line is invalid, 130 if it was interrupted, unless the command says otherwise.\n")
	return out.String()
}

// key is the same for flags with the same meaning.
func key(f *kong.Flag) string { return f.Name + "\x00" + f.Help }

// flag writes a flag with its variable and default.
func flag(out *strings.Builder, f *kong.Flag) {
	fmt.Fprintf(out, ".TP\n\\fB%s\\fR", roff("--"+f.Name))
	if !f.IsBool() && f.Name != "help" {
		fmt.Fprintf(out, "=\\fI%s\\fR", roff(strings.Trim(f.FormatPlaceHolder(), `"`)))
	}
	out.WriteString("\n" + roff(f.Help) + "\n")
	if len(f.Envs) > 0 {
		fmt.Fprintf(out, "Variable: %s.\n", roff(strings.Join(f.Envs, ", ")))
	}
}

var escapes = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`)

// roff returns a text that the formatter prints as it is, line by line. A period or an
// apostrophe at the beginning of a line would be a request.
func roff(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escapes.Replace(line)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + lines[i]
		}
	}
	return strings.Join(lines, "\n.br\n")
}
