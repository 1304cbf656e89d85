package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows the progress of an operation: as a bar on a terminal, else as a line
// every few seconds.
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

// begin begins to show an operation that ends at total; 0 means that its end is
// unknown.
func (p *progress) begin(what, unit string, total int64) {
	p.end()
	p.what, p.unit, p.total, p.now, p.open = what, unit, total, 0, true
	p.begun = time.Now()
	p.shown = p.begun
}

// at sets how much is done.
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

// end shows the final state and ends the line.
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

// say prints a separate line.
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

// line returns the text to show: the operation, what is done, the rate and the time
// left.
func (p *progress) line() string {
	passed := p.shown.Sub(p.begun)
	rate := float64(p.now) / max(passed.Seconds(), 0.001)
	text := fmt.Sprintf("%s  %d", p.what, p.now)
	if p.total > 0 {
		share := min(float64(p.now)/float64(p.total), 1)
		text = fmt.Sprintf("%s  %3.0f %%  %d of %d", p.what, 100*share, p.now, p.total)
		if p.bar {
			full := int(share * barWidth)
			text = fmt.Sprintf("%s  %s%s  %3.0f %%  %d of %d", p.what, strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*share, p.now, p.total)
		}
	}
	text += fmt.Sprintf(" %s  %.0f/s", p.unit, rate)
	if left := p.total - p.now; p.total > 0 && left > 0 && p.now > 0 {
		text += fmt.Sprintf("  %s left", (time.Duration(float64(left) / rate * float64(time.Second))).Round(time.Second))
	}
	return text
}
