package main

import (
	"bufio"
	"encoding/csv"
	"io"
	"os"

	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

type sampleCommand struct {
	Type   string `required:"" help:"What each row does: MUTATION/USER, MUTATION/DELETE_USER, MUTATION/USER_EVENT or MUTATION/REDEEMABLE_REWARD_BALANCE." placeholder:"TYPE"`
	Rows   int64  `default:"1000" help:"Number of rows."`
	From   int64  `help:"Number of the first row. The same number always gives the same row; rows of all types name the same users."`
	Format string `default:"csv" enum:"csv,jsonl" help:"Format of the file: ${enum}."`
	Out    string `short:"o" help:"File to write. Default: the standard output." placeholder:"FILE"`
}

// Run writes a file of generated rows.
func (c *sampleCommand) Run(e *env) (err error) {
	t, err := parseImport(c.Type)
	if err != nil {
		return err
	}
	out := e.out
	if c.Out != "" {
		file, err := os.Create(c.Out)
		if err != nil {
			return err
		}
		defer func() {
			if closeErr := file.Close(); err == nil {
				err = closeErr
			}
		}()
		out = file
	}
	buffered := bufio.NewWriterSize(out, 64<<10)
	write := c.csv
	if c.Format == string(importfile.JSONL) {
		write = c.jsonl
	}
	if err := write(t, buffered); err != nil {
		return err
	}
	return buffered.Flush()
}

func (c *sampleCommand) csv(t job.Type, to io.Writer) error {
	w := csv.NewWriter(to)
	_ = w.Write(importfile.SampleColumns(t))
	for n := range c.Rows {
		if err := w.Write(importfile.SampleRow(t, c.From+n)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func (c *sampleCommand) jsonl(t job.Type, to io.Writer) error {
	layout, _ := importfile.ParseHeader(t, importfile.SampleColumns(t))
	var line []byte
	for n := range c.Rows {
		line = append(wire.CellsRow(layout, importfile.SampleRow(t, c.From+n)).AppendJSON(line[:0]), '\n')
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// parseImport parses the type of a job that imports a file.
func parseImport(s string) (job.Type, error) {
	t, err := job.ParseType("type", s)
	if err == nil && !t.Import() {
		_, err = job.ParseType("type", "")
	}
	return t, err
}
