package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how far something has come: as a bar that moves on a terminal,
// as a line now and then elsewhere.
type progress struct {
	out io.Writer
	// bar is true on a terminal.
	bar bool

	what, unit   string
	now, total   int64
	begun, shown time.Time
	// open is true between begin and end.
	open bool
}

// How often progress is shown.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 30
)

func newProgress(out io.Writer) *progress {
	p := &progress{out: out}
	if file, ok := out.(*os.File); ok {
		p.bar = terminal(file) && os.Getenv("TERM") != "dumb"
	}
	return p
}

// begin begins to show something that ends at total, or at a number that is not
// known when total is 0.
func (p *progress) begin(what, unit string, total int64) {
	p.end()
	p.what, p.unit, p.total, p.now, p.open = what, unit, total, 0, true
	p.begun = time.Now()
	p.shown = p.begun
}

// at says how far it has come.
func (p *progress) at(n int64) {
	p.now = n
	every := lineEvery
	if p.bar {
		every = barEvery
	}
	if time.Since(p.shown) >= every {
		p.show()
	}
}

// end shows the last of it, and leaves it standing.
func (p *progress) end() {
	if !p.open {
		return
	}
	p.show()
	if p.bar {
		fmt.Fprintln(p.out)
	}
	p.open = false
}

// say writes a line of its own.
func (p *progress) say(line string) {
	p.end()
	fmt.Fprintln(p.out, line)
}

func (p *progress) show() {
	p.shown = time.Now()
	if p.bar {
		fmt.Fprintf(p.out, "\r\x1b[K%s", p.line())
		return
	}
	fmt.Fprintln(p.out, p.line())
}

// line is what is shown: what, how far, how fast, how long yet.
func (p *progress) line() string {
	passed := p.shown.Sub(p.begun)
	rate := float64(p.now) / max(passed.Seconds(), 0.001)
	text := fmt.Sprintf("%s  %d", p.what, p.now)
	if p.total > 0 {
		part := min(float64(p.now)/float64(p.total), 1)
		text = fmt.Sprintf("%s  %3.0f %%  %d of %d", p.what, 100*part, p.now, p.total)
		if p.bar {
			full := int(part * barWidth)
			text = fmt.Sprintf("%s  %s%s  %3.0f %%  %d of %d", p.what, strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*part, p.now, p.total)
		}
	}
	text += fmt.Sprintf(" %s  %.0f/s", p.unit, rate)
	if left := p.total - p.now; p.total > 0 && left > 0 && p.now > 0 {
		text += fmt.Sprintf("  %s left", (time.Duration(float64(left) / rate * float64(time.Second))).Round(time.Second))
	}
	return text
}
