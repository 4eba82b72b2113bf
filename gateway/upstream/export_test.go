package upstream

// LeaveNoTime has a process be started anew for another folder at once.
func (m *Mounts) LeaveNoTime() { m.fresh = 0 }
