package output

// trail remembers where the characters of readings began. Readings share what
// they have in common: it is a tree of steps, each with one longer jump back
// (Myers, 1983), so that a step far back is found in logarithmic time.
type trail struct {
	steps []trailStep
}

// trailStep is one character of a reading.
type trailStep struct {
	// at is where it begins, count how many there are up to it.
	at, count int
	// last and jump are steps before it.
	last, jump int32
}

// noStep is in front of the first step.
const noStep int32 = -1

// add adds a character behind a step and returns its step.
func (t *trail) add(last int32, at int) int32 {
	id := int32(len(t.steps))
	s := trailStep{at: at, count: 1, last: noStep, jump: id}
	if last != noStep {
		p := &t.steps[last]
		j := &t.steps[p.jump]
		s.count, s.last, s.jump = p.count+1, last, last
		if p.count-j.count == j.count-t.steps[j.jump].count {
			s.jump = j.jump
		}
	}
	t.steps = append(t.steps, s)
	return id
}

// startOf returns where the last count characters up to a step begin.
func (t *trail) startOf(id int32, count int) int {
	s := &t.steps[id]
	for want := s.count - count + 1; s.count > want; {
		if j := &t.steps[s.jump]; j.count >= want {
			s = j
		} else {
			s = &t.steps[s.last]
		}
	}
	return s.at
}

// keep forgets all steps but the last count up to a step, and returns that
// step.
func (t *trail) keep(id int32, count int) int32 {
	kept := make([]int, count)
	first := t.steps[id].count - count
	for i := count - 1; i >= 0; i-- {
		kept[i], id = t.steps[id].at, t.steps[id].last
	}
	t.steps, id = t.steps[:0], noStep
	for _, at := range kept {
		id = t.add(id, at)
		t.steps[id].count = first + int(id) + 1
	}
	return id
}
