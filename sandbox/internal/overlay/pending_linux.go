package overlay

import (
	"errors"
	"io"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/pending"
)

// whyWaits begins the reason of a change that waits for a person.
const whyWaits = "waits for a person: "

// projectRule is the rule for configuration of a project, when that is all that
// is against a path.
func (j *commitChecker) projectRule(l *layer, rel string) (denyfloor.Rule, bool) {
	path := l.lower + "/" + rel
	var found denyfloor.Rule
	for _, name := range j.namesOf(path) {
		if r, denied := j.floor.Rule("write", name, true); denied {
			if r.Class != denyfloor.Project {
				return denyfloor.Rule{}, false
			}
			found = r
		}
	}
	for i := range j.masks {
		if m := &j.masks[i]; m.Class != denyfloor.Project && (m.Path == path || !m.Link && !m.Kept && m.Covers(path)) {
			return denyfloor.Rule{}, false
		}
	}
	return found, found.Class != ""
}

// keepPending keeps the changes that wait, and has each say how a person applies it.
func (v *Overlay) keepPending(steps []*step) {
	var waiting []*step
	batch := pending.Batch{Time: v.start, Binary: v.o.Binary}
	for _, s := range steps {
		if !s.waits {
			continue
		}
		f, err := s.pendingFile()
		if err == nil && len(batch.Files) >= pending.MaxFiles {
			err = errors.New("too many of them in one run")
		}
		if err != nil {
			s.Why += "; it could not be kept for one: " + err.Error()
			continue
		}
		batch.Files, waiting = append(batch.Files, f), append(waiting, s)
	}
	if len(waiting) == 0 {
		return
	}
	id, err := v.o.Pending.Add(batch)
	for _, s := range waiting {
		if err != nil {
			s.Why += "; it could not be kept for one: " + err.Error()
			continue
		}
		s.Why += "; sallyport pending show " + id + " shows the difference and how to apply it"
	}
}

// pendingFile is the change of a step as it is kept.
func (s *step) pendingFile() (pending.File, error) {
	f := pending.File{Path: s.Path, Mode: s.mode, Removed: s.do == removeAny}
	was, err := (&pending.File{Path: s.Path}).Current()
	if err != nil {
		return f, err
	}
	if was != nil {
		f.Was = digest.Text(was)
	}
	// It is what was judged: the host may have changed it since.
	now, err := s.layer.statLower(s.rel)
	if err != nil || now.exists != s.base.exists || now.st.Ino != s.base.st.Ino || now.st.Ctim != s.base.st.Ctim {
		return f, errors.Join(errors.New("it was changed on the host since then"), err)
	}
	if f.Removed {
		return f, nil
	}
	if s.Bytes > pending.MaxBytes {
		return f, errors.New("it is too large")
	}
	from, err := s.openUpper()
	if err != nil {
		return f, err
	}
	defer from.Close()
	f.Content, err = io.ReadAll(io.LimitReader(from, pending.MaxBytes))
	return f, err
}
