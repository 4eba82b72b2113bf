package output

// trail remembers where the characters of readings began. Readings share what
// they have in common: it is a tree of runs, each with one longer jump back
// (Myers, 1983), so that a character far back is found in logarithmic time. A
// character is given by its run and its number in the reading.
type trail struct {
	runs []trailRun
	// kept is used while others are forgotten.
	kept []trailRun
}

// trailRun is a run of characters that are equally far from each other.
type trailRun struct {
	// at is where the first of them begins, stride how far each is from the
	// next. Their numbers are first to end.
	at, stride, first, end int
	// last is the run in front of the first one. jump is one in front of the run,
	// of which the reading has the characters up to number jumpEnd.
	last, jump int32
	jumpEnd    int
	// depth is the number of runs in front.
	depth int32
}

// noRun is in front of the first run.
const noRun int32 = -1

// add adds a character behind the one with a number in a run, and returns its
// run.
func (t *trail) add(id int32, number, at int) int32 {
	if id != noRun {
		r := &t.runs[id]
		if r.first == r.end {
			r.stride = at - r.at
		}
		if at == r.at+(number+1-r.first)*r.stride {
			r.end = max(r.end, number+1)
			return id
		}
	}
	return t.addRun(trailRun{at: at, first: number + 1, end: number + 1, last: id})
}

// addBytes is add for count characters of one byte each.
func (t *trail) addBytes(id int32, number, at, count int) int32 {
	for ; count > 0; count-- {
		id = t.add(id, number, at)
		number++
		at++
		if r := &t.runs[id]; r.stride == 1 && r.first < number {
			r.end = max(r.end, number+count-1)
			break
		}
	}
	return id
}

// addRun adds a run behind its last one.
func (t *trail) addRun(r trailRun) int32 {
	id := int32(len(t.runs))
	t.runs = append(t.runs, r)
	n := &t.runs[id]
	n.jump, n.jumpEnd, n.depth = n.last, n.first-1, 0
	if n.last == noRun {
		return id
	}
	p := &t.runs[n.last]
	n.depth = p.depth + 1
	if p.jump == noRun {
		return id
	}
	if j := &t.runs[p.jump]; j.jump != noRun && p.depth-j.depth == j.depth-t.runs[j.jump].depth {
		n.jump, n.jumpEnd = j.jump, j.jumpEnd
	}
	return id
}

// placeOf returns where the character with a number begins, which is in a run
// or in front of it.
func (t *trail) placeOf(id int32, number int) int {
	r := &t.runs[id]
	for r.first > number {
		if r.jumpEnd >= number {
			r = &t.runs[r.jump]
		} else {
			r = &t.runs[r.last]
		}
	}
	return r.at + (number-r.first)*r.stride
}

// keep forgets all characters but the last count ones up to a number in a run,
// and returns the run of that one.
func (t *trail) keep(id int32, number, count int) int32 {
	kept := t.kept[:0]
	for first := number - count + 1; number >= first; number = kept[len(kept)-1].first - 1 {
		r := t.runs[id]
		id, r.end = r.last, number
		if skipped := first - r.first; skipped > 0 {
			r.at, r.first = r.at+skipped*r.stride, first
		}
		kept = append(kept, r)
	}
	t.kept, t.runs, id = kept, t.runs[:0], noRun
	for i := len(kept) - 1; i >= 0; i-- {
		kept[i].last = id
		id = t.addRun(kept[i])
	}
	return id
}
