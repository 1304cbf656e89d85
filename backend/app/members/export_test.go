package members

// Computed returns how many hashes were computed.
func (p *Passwords) Computed() int64 { return p.computed.Load() }
