// Package progress shows how far a long operation is.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Display shows the progress of an operation: as a bar on a terminal, else as a line every
// few seconds.
type Display struct {
	out io.Writer
	// bar is true on a terminal.
	bar bool

	what, unit   string
	now, total   int64
	begun, shown time.Time
	// moved is when now changed.
	moved time.Time
	// open is true between Begin and End.
	open bool
}

// How often progress is shown.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 30
	// stalledAfter is after how long without progress no rate is shown.
	stalledAfter = 15 * time.Second
)

// New returns a display on out.
func New(out io.Writer) *Display {
	p := &Display{out: out}
	if file, ok := out.(*os.File); ok {
		p.bar = Terminal(file) && os.Getenv("TERM") != "dumb"
	}
	return p
}

// Begin begins to show an operation that ends at total; 0 means that its end is
// unknown.
func (p *Display) Begin(what, unit string, total int64) {
	p.End()
	p.what, p.unit, p.total, p.now, p.open = what, unit, total, 0, true
	p.begun = time.Now()
	p.shown, p.moved = p.begun, p.begun
}

// At sets how much is done.
func (p *Display) At(n int64) {
	if n != p.now {
		p.now, p.moved = n, time.Now()
	}
	every := lineEvery
	if p.bar {
		every = barEvery
	}
	if time.Since(p.shown) >= every {
		p.show()
	}
}

// End shows the final state and ends the line.
func (p *Display) End() {
	if !p.open {
		return
	}
	p.show()
	if p.bar {
		fmt.Fprintln(p.out)
	}
	p.open = false
}

// Note prints a line while the operation runs.
func (p *Display) Note(line string) {
	if p.bar {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	fmt.Fprintln(p.out, line)
}

// Say prints a separate line.
func (p *Display) Say(line string) {
	p.End()
	fmt.Fprintln(p.out, line)
}

func (p *Display) show() {
	p.shown = time.Now()
	if p.bar {
		fmt.Fprintf(p.out, "\r\x1b[K%s", p.line())
		return
	}
	fmt.Fprintln(p.out, p.line())
}

// line returns the text to show: the operation, what is done, the rate and the time
// left.
func (p *Display) line() string {
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
	text += " " + p.unit
	if still := p.shown.Sub(p.moved); still >= stalledAfter && (p.total == 0 || p.now < p.total) {
		return text + fmt.Sprintf("  no progress for %s", still.Round(time.Second))
	}
	text += fmt.Sprintf("  %.0f/s", rate)
	if left := p.total - p.now; p.total > 0 && left > 0 && p.now > 0 {
		text += fmt.Sprintf("  %s left", (time.Duration(float64(left) / rate * float64(time.Second))).Round(time.Second))
	}
	return text
}

// Terminal reports whether a file is a terminal.
func Terminal(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return info.Mode()&os.ModeCharDevice != 0 && (err != nil || !os.SameFile(info, null))
}
