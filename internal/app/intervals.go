package app

import (
	"cmp"
	"time"
)

// Intervals are the pauses between two looks at what may have changed. A field
// that is 0 means its default.
type Intervals struct {
	// Poll is the pause between two checks whether the configuration has
	// changed; 0 means 250 ms, so that a withdrawn right is gone within a
	// second. Reading a few kilobytes costs less than a library that watches
	// folders, and also notices editors that replace the file.
	Poll time.Duration
	// Attend is the pause between two checks which upstream servers are due; 0
	// means 1 s.
	Attend time.Duration
	// Places is the pause between two checks whether paths lead elsewhere: an
	// operator has moved a link, a file system was mounted, or another process
	// on this state has a configuration that lets tools write elsewhere; 0 means
	// 1 s.
	Places time.Duration
	// Outward is the first pause after a failure to send a part of the record
	// elsewhere, which doubles up to 5 minutes; 0 means 1 s.
	Outward time.Duration
}

// withDefaults returns the intervals without a 0.
func (i Intervals) withDefaults() Intervals {
	return Intervals{
		Poll: cmp.Or(i.Poll, 250*time.Millisecond), Attend: cmp.Or(i.Attend, time.Second), Places: cmp.Or(i.Places, time.Second),
		Outward: cmp.Or(i.Outward, time.Second),
	}
}
