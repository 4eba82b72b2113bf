package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/output"
)

// readBatch is how many records are decoded in one piece.
const readBatch = 128

// pastRecord is a record with what a replay needs of it.
type pastRecord struct {
	audit.Record
	event audit.Event // of a call without what a replay does not ask for
	err   error
}

// recordBatch is a piece of the record; done is closed once it is decoded.
type recordBatch struct {
	list []pastRecord
	done chan struct{}
}

// readPast yields the records of a chain in their order. It decodes them on all
// processors, ahead of who reads. With trails, the trail of a call that succeeded is
// among what it decodes: that takes about half of the time.
func readPast(ctx context.Context, r audit.Reader, trails bool) iter.Seq2[*pastRecord, error] {
	return func(yield func(*pastRecord, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		ahead := make(chan *recordBatch, 2*runtime.GOMAXPROCS(0))
		var working sync.WaitGroup
		defer working.Wait()
		defer cancel()
		working.Go(func() {
			defer close(ahead)
			sendBatches(ctx, r, trails, ahead, &working)
		})
		for b := range ahead {
			<-b.done
			for i := range b.list {
				if p := &b.list[i]; !yield(p, p.err) || p.err != nil {
					return
				}
			}
		}
	}
}

// sendBatches reads records and has them decoded until the context ends.
func sendBatches(ctx context.Context, r audit.Reader, trails bool, ahead chan<- *recordBatch, working *sync.WaitGroup) {
	b := &recordBatch{}
	send := func() bool {
		full := b
		full.done = make(chan struct{})
		b = &recordBatch{list: make([]pastRecord, 0, readBatch)}
		working.Go(func() {
			defer close(full.done)
			for i := range full.list {
				full.list[i].decode(trails)
			}
		})
		select {
		case ahead <- full:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for rec, err := range r.Read(ctx, audit.Query{}) {
		b.list = append(b.list, pastRecord{Record: rec, err: err})
		if len(b.list) == readBatch && !send() {
			return
		}
	}
	send()
}

// decode reads what is needed of the body.
func (p *pastRecord) decode(trails bool) {
	switch {
	case p.err != nil:
	case p.Kind == audit.KindIntent:
		// Of most intents a replay needs what stands at their end.
		if p.event.Brought = p.FindBrought(); p.event.Brought == nil {
			p.err = p.decodeCall(trails)
		} else {
			p.fillEvent()
		}
	case p.Kind == audit.KindOutcome:
		p.err = p.decodeCall(trails)
	case p.Kind == audit.KindChange:
		p.event, p.err = p.Event()
	}
}

// fillEvent fills in what is known of a call without its body.
func (p *pastRecord) fillEvent() {
	p.event.Kind, p.event.Time, p.event.CallID, p.event.Principal = p.Kind, p.at(), p.Call, p.Principal
}

// at returns when it happened.
func (p *pastRecord) at() time.Time { return time.Unix(0, p.Time).UTC() }

// approvedStep is within the trail of a call that a person let run. Of another one that
// succeeded, a replay asks for nothing in the trail.
var approvedStep = []byte(`"step":"approve","allowed":true,`)

// decodeCall reads the fields of a call's record that a replay needs. That takes a
// fraction of the time that all of them take.
func (p *pastRecord) decodeCall(trails bool) error {
	var w struct {
		Session     output.Clean       `json:"session"`
		Personality output.Clean       `json:"personality"`
		Platform    sallyport.Platform `json:"platform"`
		Agent       output.Clean       `json:"agent"`
		Team        output.Clean       `json:"team"`
		Args        output.Clean       `json:"args"`
		ArgsDigest  string             `json:"args_digest"`
		Code        sallyport.Code     `json:"code"`
		Stage       sallyport.Step     `json:"stage"`
		Error       output.Clean       `json:"error"`
		OK          bool               `json:"ok"`
		Decisions   json.RawMessage    `json:"decisions"`
		DryRun      bool               `json:"dry_run"`
		Tool        output.Clean       `json:"tool"`
		DurationMS  float64            `json:"duration_ms"`
		Carried     *facts.Carried     `json:"carried"`
		Brought     *facts.Brought     `json:"brought"`
	}
	if err := json.Unmarshal(p.Body, &w); err != nil {
		return fmt.Errorf("record %d is not readable: %w", p.Seq, err)
	}
	var trail []sallyport.Decision
	if trails || !w.OK || bytes.Contains(w.Decisions, approvedStep) {
		if err := json.Unmarshal(w.Decisions, &trail); w.Decisions != nil && err != nil {
			return fmt.Errorf("record %d is not readable: %w", p.Seq, err)
		}
	}
	p.event = audit.Event{
		Seq: p.Seq, Kind: p.Kind, Time: p.at(), CallID: p.Call, Principal: p.Principal, Tool: w.Tool,
		Session: w.Session, Personality: w.Personality, Platform: w.Platform, Agent: w.Agent, Team: w.Team,
		Args: w.Args, ArgsDigest: w.ArgsDigest, Code: w.Code, Stage: w.Stage, Error: w.Error,
		Decisions: trail, OK: w.OK, DryRun: w.DryRun, Brought: w.Brought, Carried: w.Carried,
		Duration: time.Duration(w.DurationMS * float64(time.Millisecond)),
	}
	return nil
}
