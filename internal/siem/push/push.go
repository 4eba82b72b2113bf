// Package push sends the record to collectors as it grows. It reads the record behind the
// gate, from a position that the state keeps, so that no call waits and a restart loses
// nothing.
//
// Start with [Pusher].
package push

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/setting"
	"github.com/sallyport/sallyport/internal/siem"
)

const (
	// maxBatch and maxBatchBytes bound what is sent at once.
	maxBatch, maxBatchBytes = 256, 1 << 20
	// maxPause bounds the pause after failures.
	maxPause = 5 * time.Minute
	// leaseTime is how long a process that died keeps others from sending.
	leaseTime = 30 * time.Second
)

// maxAlone bounds how many records that are refused alone are left out in a row without a
// pause: a collector that refuses more of them may refuse them all.
const maxAlone = 3

// Sender hands records to a collector.
type Sender interface {
	// Send hands over lines, in order. Refused is how many of them the collector cannot
	// take whatever is tried; after an error all are sent again, and after [ErrTooMuch]
	// fewer at once. An error with a method Pause says how long the collector wants to be
	// left alone. [ErrAlone] is for one line.
	Send(ctx context.Context, lines []siem.Line) (refused int, err error)
	// Confirm returns an error when what was handed over may not have arrived. Last is
	// true when nothing more is sent.
	Confirm(ctx context.Context, last bool) error
	// Close ends the connection.
	Close()
}

// ErrTooMuch says that a collector may take some of the lines when it gets them apart.
var ErrTooMuch = errors.New("the collector does not take as much at once")

// ErrAlone says that a collector refuses a line that it got alone, and not every request.
var ErrAlone = errors.New("the collector refuses the record")

// Options say what is sent where.
type Options struct {
	// Name names the collector in the log and the metrics.
	Name string
	// Position names what the state keeps of it; empty for its name.
	Position string
	// Records is the record.
	Records audit.Reader
	// Kept keeps the position.
	Kept setting.Store
	// Sender hands records over.
	Sender Sender
	// Format is the form of a record, Version the version of the program in it.
	Format siem.Format
	// Version is that of the program.
	Version string
	// Poll is the pause between two looks for new records.
	Poll time.Duration
	// First is the first pause after a failure, which doubles up to 5 minutes.
	First time.Duration
	// Logger is told what cannot be sent.
	Logger *slog.Logger
}

// Stats are what became of the records.
type Stats struct {
	// Sent and Lost count records, Behind is how many wait.
	Sent, Lost, Behind int64
}

// Pusher sends the record to one collector. Of several processes on a state, one sends.
type Pusher struct {
	o     Options
	owner string

	// Owned by the worker.
	at      position // up to where everything was handed over
	kept    position // up to where that is confirmed and in the state
	holding bool     // this process sends
	failing bool
	most    int  // how many lines are sent at once
	alone   int  // how many records in a row were refused alone and left out
	paused  bool // the next one was refused, and a pause followed

	mu    sync.Mutex
	stats Stats
}

// position is what the state keeps.
type position struct {
	Seq   int64      `json:"seq"`
	Hash  audit.Hash `json:"hash"`
	Owner string     `json:"owner,omitempty"` // the process that sends, until a time
	Until time.Time  `json:"until,omitzero"`
}

// errElsewhere: another process on this state sends.
var errElsewhere = errors.New("another process sends the record")

// New returns a pusher. It sends nothing until Run.
func New(o Options) *Pusher {
	o.Position = cmp.Or(o.Position, o.Name)
	return &Pusher{o: o, owner: rand.Text(), most: maxBatch}
}

// Stats returns the counts until now.
func (p *Pusher) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Run sends records until the context ends.
func (p *Pusher) Run(ctx context.Context) {
	pause := p.o.First
	for {
		more, err := p.sendBatch(ctx)
		wait := p.o.Poll
		switch {
		case err == nil:
			if p.alone == 0 { // what only leaves records out has not recovered
				pause = p.o.First
				p.sayRecovered()
			}
			if more {
				wait = 0
			}
		case errors.Is(err, errElsewhere):
			wait = leaseTime / 3
		default:
			p.sayFirstFailure(ctx, err)
			wait, pause = max(pause, askedPause(err)), min(2*pause, maxPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// askedPause returns how long a collector wants to be left alone, as far as it may ask.
func askedPause(err error) time.Duration {
	e, ok := errors.AsType[interface {
		error
		Pause() time.Duration
	}](err)
	if !ok {
		return 0
	}
	return min(e.Pause(), maxPause)
}

// Finish sends what is left, as far as the context lets it, and lets another process go on.
// Call it after Run has returned.
func (p *Pusher) Finish(ctx context.Context) {
	defer p.o.Sender.Close()
	p.paused = false // its pause may be cut short
	for more := true; more; {
		var err error
		if more, err = p.sendBatch(ctx); err != nil {
			break
		}
	}
	if !p.holding {
		return
	}
	if p.at != p.kept && p.o.Sender.Confirm(ctx, true) == nil {
		p.kept = p.at
	}
	end := position{Seq: p.kept.Seq, Hash: p.kept.Hash}
	if err := p.storePosition(context.WithoutCancel(ctx), end); err != nil {
		p.o.Logger.Warn("how far the record was sent is not kept: some is sent again", "to", p.o.Name, "error", err)
	}
}

// sendBatch confirms what was handed over before, and hands over what follows. More is true
// when there may be more.
func (p *Pusher) sendBatch(ctx context.Context) (more bool, err error) {
	if err := p.takeLease(ctx); err != nil {
		return false, err
	}
	if p.at.Seq != p.kept.Seq {
		if err := p.o.Sender.Confirm(ctx, false); err != nil {
			p.at = p.kept // it is sent again
			return false, err
		}
		next := position{Seq: p.at.Seq, Hash: p.at.Hash, Owner: p.owner, Until: time.Now().Add(leaseTime)}
		if err := p.storePosition(ctx, next); err != nil {
			return false, err
		}
		p.kept = p.at
	}
	lines, next, lost, err := p.readBatch(ctx)
	if err != nil || next.Seq == p.at.Seq {
		return false, err
	}
	refused := 0
	if len(lines) > 0 {
		refused, err = p.o.Sender.Send(ctx, lines)
		if errors.Is(err, ErrTooMuch) && len(lines) > 1 {
			p.most = len(lines) / 2
			return true, nil
		}
		if len(lines) == 1 && errors.Is(err, ErrAlone) && p.leaveOut() {
			refused, err = 1, nil
		}
		if err != nil {
			p.at = p.kept
			return false, err
		}
		if refused < len(lines) {
			p.alone, p.paused = 0, false
		}
	}
	p.most = min(2*p.most, maxBatch)
	if gone := lost + int64(refused); gone > 0 {
		p.o.Logger.Error("records could not be sent and are left out", "to", p.o.Name, "records", gone, "up_to", next.Seq)
	}
	p.at = next
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Sent += int64(len(lines) - refused)
	p.stats.Lost += lost + int64(refused)
	return true, nil
}

// leaveOut reports whether a record that is refused alone is left out now. After a few of them
// each one has to be refused again after a pause.
func (p *Pusher) leaveOut() bool {
	if p.alone >= maxAlone && !p.paused {
		p.paused = true
		return false
	}
	p.alone, p.paused = p.alone+1, false
	return true
}

// readBatch reads the records after the position, and notes how many wait. Lost is how many
// were pruned, or cannot be read.
func (p *Pusher) readBatch(ctx context.Context) (lines []siem.Line, next position, lost int64, err error) {
	next = p.at
	head, err := audit.Newest(ctx, p.o.Records)
	if err != nil {
		return nil, next, 0, err
	}
	p.mu.Lock()
	p.stats.Behind = max(0, head.Seq-p.kept.Seq)
	p.mu.Unlock()
	if head.Seq <= p.at.Seq {
		return nil, next, 0, nil
	}
	size := 0
	for rec, err := range p.o.Records.Read(ctx, audit.Query{After: p.at.Seq}) {
		if err != nil {
			return nil, p.at, 0, err
		}
		if rec.Kind == audit.KindCheckpoint {
			lost += rec.Seq - next.Seq
		} else {
			missing := rec.Seq - next.Seq - 1
			lost += missing
			before := audit.Head{Seq: next.Seq, Hash: next.Hash}
			if missing > 0 {
				before = audit.Head{}
			}
			line, err := siem.NewLine(&rec, before, p.o.Format, p.o.Version)
			if err == nil {
				lines, size = append(lines, line), size+len(line.Text)
			} else {
				lost++
			}
		}
		next = position{Seq: rec.Seq, Hash: rec.Hash}
		if len(lines) == p.most || size >= maxBatchBytes {
			break
		}
	}
	return lines, next, lost, nil
}

// takeLease makes this process the one that sends, and takes over the position.
func (p *Pusher) takeLease(ctx context.Context) error {
	var now position
	head, err := audit.Newest(ctx, p.o.Records)
	if err != nil {
		return err
	}
	err = setting.Change(ctx, p.o.Kept, p.settingName(), func(was string, ok bool) (string, error) {
		now = position{Seq: head.Seq, Hash: head.Hash} // what was recorded before is exported by hand
		if ok {
			if err := setting.Decode(was, &now); err != nil {
				return "", fmt.Errorf("the position: %w", err)
			}
		}
		if now.Owner == p.owner && time.Until(now.Until) > leaseTime/2 {
			return was, nil
		}
		if left := time.Until(now.Until); now.Owner != "" && now.Owner != p.owner && left > 0 && left <= leaseTime {
			return "", errElsewhere
		}
		now.Owner, now.Until = p.owner, time.Now().Add(leaseTime)
		text, err := json.Marshal(now)
		return string(text), err
	})
	if err != nil {
		p.holding = p.holding && !errors.Is(err, errElsewhere)
		return err
	}
	if !p.holding {
		p.at = position{Seq: now.Seq, Hash: now.Hash}
		p.kept, p.holding = p.at, true
		return p.checkPosition(ctx, head)
	}
	return nil
}

// checkPosition begins with the oldest record when the one at the position is another one
// than was sent.
func (p *Pusher) checkPosition(ctx context.Context, head audit.Head) error {
	if p.at.Seq == 0 {
		return nil
	}
	same := p.at.Seq <= head.Seq
	for rec, err := range p.o.Records.Read(ctx, audit.Query{After: p.at.Seq - 1}) {
		if err != nil {
			p.holding = false
			return err
		}
		same = rec.Hash == p.at.Hash || rec.Seq > p.at.Seq // it may be pruned
		break
	}
	if !same {
		p.o.Logger.Error("the record is not the one that was sent before: it is sent from its beginning", "to", p.o.Name, "seq", p.at.Seq)
		p.at, p.kept = position{}, position{}
	}
	return nil
}

// storePosition stores a position unless another process has taken over.
func (p *Pusher) storePosition(ctx context.Context, next position) error {
	return setting.Change(ctx, p.o.Kept, p.settingName(), func(was string, ok bool) (string, error) {
		var now position
		if err := setting.Decode(was, &now); !ok || err != nil || now.Owner != p.owner {
			p.holding = false
			return "", errElsewhere
		}
		text, err := json.Marshal(next)
		return string(text), err
	})
}

func (p *Pusher) settingName() string { return "push/" + p.o.Position }

func (p *Pusher) sayFirstFailure(ctx context.Context, err error) {
	if ctx.Err() != nil || p.failing {
		return
	}
	p.failing = true
	p.o.Logger.Warn("the record cannot be sent; it is tried again", "to", p.o.Name, "error", err, "behind", p.Stats().Behind)
}

func (p *Pusher) sayRecovered() {
	if p.failing {
		p.failing = false
		p.o.Logger.Warn("the record is sent again", "to", p.o.Name, "behind", p.Stats().Behind)
	}
}
