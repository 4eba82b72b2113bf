package upstream

// Held is how many bytes of messages are counted as held now.
func (m *Mounts) Held() int64 { return m.memory.Held() }

// LeaveNoTime has a process be started anew for another folder at once.
func (m *Mounts) LeaveNoTime() { m.fresh = 0 }

// MaxHeld bounds them.
const MaxHeld = maxHeld
