package members

import "time"

// Computed returns how many hashes were computed.
func (p *Passwords) Computed() int64 { return p.computed.Load() }

// SetWait limits how long a call waits for others.
func (p *Passwords) SetWait(d time.Duration) { p.wait = d }

// MakeCheap makes hashes that cost less. Tests make hundreds.
func (p *Passwords) MakeCheap() { p.memory = 64 }
