package recordlog

import (
	"github.com/sallyport/sallyport/audit"
)

// show shows a record to who watches, once and in order.
func (l *Log) show(r *audit.Record) {
	switch {
	case l.see == nil || r.Seq <= l.shown:
	case r.Seq == l.shown+1:
		l.shown = r.Seq
		l.see(r)
	default:
		l.loseSight()
	}
}

// loseSight tells who watches that records went by unseen.
func (l *Log) loseSight() {
	see := l.see
	l.see = nil
	see(nil)
}

// checkSight notices records that went by unseen.
func (l *Log) checkSight() {
	if l.see != nil && l.tail.head.Seq > l.shown {
		l.loseSight()
	}
}

