// Package manual writes the man page and the shell completions of a command line from
// its model, so that they have every command and flag.
package manual

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// nodes returns the application, then all its commands, parents before children.
func nodes(app *kong.Application) []*kong.Node {
	all := []*kong.Node{app.Node}
	for i := 0; i < len(all); i++ {
		for _, child := range all[i].Children {
			if !child.Hidden {
				all = append(all, child)
			}
		}
	}
	return all
}

// path returns the words of a command after the name of the program.
func path(n *kong.Node) string {
	if n.Parent == nil {
		return ""
	}
	return strings.TrimSpace(path(n.Parent) + " " + n.Name)
}

// commands returns the names of the subcommands.
func commands(n *kong.Node) (names []string) {
	for _, child := range n.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return names
}

// flags returns the flags that may follow a command, sorted by name.
func flags(n *kong.Node) []*kong.Flag {
	all := slices.Concat(n.AllFlags(true)...)
	slices.SortFunc(all, func(a, b *kong.Flag) int { return strings.Compare(a.Name, b.Name) })
	return all
}
