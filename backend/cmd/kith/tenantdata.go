package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"kith/backend/backup"
	"kith/core"
)

type tenantExportCommand struct {
	archiveFlags
	Alias   string `arg:"" help:"Alias of the tenant; its test tenant is another."`
	File    string `arg:"" help:"Where to write; it gets its name when it is whole. - is the standard output."`
	NoFiles bool   `help:"Leave out the files of jobs (uploads, exports)."`
}

// Help says what the file is.
func (tenantExportCommand) Help() string {
	return `All that the service holds of one tenant, for the tenant: tar packed with gzip, with a file of JSON lines for each table, named by its columns, and the files of jobs. ` +
		`It has no keys and no secrets, and cannot be restored; kith backup --tenant writes what can.`
}

// Run exports.
func (c *tenantExportCommand) Run(e *env) error {
	return c.write(e, backup.Source{Kind: backup.Export, Tenant: core.TenantAlias(c.Alias), NoFiles: c.NoFiles}, c.File)
}

type tenantEraseCommand struct {
	archiveFlags
	Alias string `arg:"" help:"Alias of the tenant; its test tenant is another."`
	Yes   bool   `help:"Do not ask."`
}

// Help says what goes and what does not.
func (tenantEraseCommand) Help() string {
	return `Removes every row and every file of one tenant, for good. The tenant is unknown from the first moment on; the rest goes in small batches, while others are served. ` +
		`Killed in the middle, it goes on when it is run again. Backups that hold the tenant are not touched.`
}

// Run asks, and erases.
func (c *tenantEraseCommand) Run(e *env) error {
	db, files, err := c.openStore(e, upToDate)
	if err != nil {
		return err
	}
	defer db.Close()
	defer files.Close()
	if !c.Yes {
		if err := confirm(e.out, os.Stdin, terminal(os.Stdin), c.Alias); err != nil {
			return err
		}
	}
	show := newProgress(e.out)
	defer show.end()
	show.begin("erase", "rows", 0)
	removed, rows := map[string]int{}, int64(0)
	err = backup.Erase(e.ctx, db, files, now, core.TenantAlias(c.Alias), func(table string, n int) {
		removed[table] += n
		rows += int64(n)
		show.at(rows)
	})
	show.end()
	if err != nil {
		return err
	}
	tables := make([]string, 0, len(removed))
	for table := range removed {
		tables = append(tables, table)
	}
	slices.Sort(tables)
	for _, table := range tables {
		fmt.Fprintf(e.out, "%8d of %s\n", removed[table], table)
	}
	_, err = fmt.Fprintf(e.out, "%s is erased: %d rows, %d of them files\n", c.Alias, rows, removed["file"])
	return err
}

// confirm has somebody at a terminal type the alias of what is to be erased.
func confirm(out io.Writer, in io.Reader, terminal bool, alias string) error {
	if !terminal {
		return core.Invalid("yes", "is needed where nobody can be asked: an erased tenant does not come back")
	}
	fmt.Fprintf(out, "All that tenant %s has goes for good. Type the alias to go on: ", alias)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if strings.TrimSpace(line) != alias {
		return core.Invalid("alias", "was not typed; nothing was erased")
	}
	return nil
}

// terminal reports whether somebody sits at a file.
func terminal(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return info.Mode()&os.ModeCharDevice != 0 && (err != nil || !os.SameFile(info, null))
}
