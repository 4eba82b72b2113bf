package upstream

// Held returns how many bytes of messages are counted as held now.
func (m *Mounts) Held() int64 { return m.memory.Held() }

// LeaveNoTime makes a process restart at once when its folder is replaced.
func (m *Mounts) LeaveNoTime() { m.fresh = 0 }

// MaxHeld is the bound on the bytes of Held.
const MaxHeld = maxHeld
