// Package siem writes records in the forms that collectors of security events read:
// OCSF and CEF.
//
// Start with [Write]. What is written is a copy for searching. The chain of the record
// is proven by its own export, whose numbers and hashes stand in each event.
package siem

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/sallyport/sallyport/audit"
)

// Format is a form of events.
type Format string

// The formats.
const (
	// OCSF is the class API Activity of the Open Cybersecurity Schema Framework, one
	// object a line.
	OCSF Format = "ocsf"
	// CEF is the Common Event Format, version 0, one event a line.
	CEF Format = "cef"
	// JSONL is the export that audit verify proves, one record a line.
	JSONL Format = "jsonl"
)

const (
	// ocsfVersion is the version of the schema.
	ocsfVersion = "1.9.0"
	// profileAI is the profile that has the agent and the delegation, profileIntegrity the
	// one that has the attestation.
	profileAI, profileIntegrity = "ai_operation", "record_integrity"
	// classAPIActivity is class_uid 6003 of category 6, Application Activity.
	classAPIActivity, categoryApplication = 6003, 6
	// other is the activity Other, typeOther its type_uid.
	other, typeOther = 99, classAPIActivity*100 + other
)

// Write writes the events that q asks for, a line each. A checkpoint, which stands for
// pruned records, is no event.
func Write(ctx context.Context, r audit.Reader, w io.Writer, q audit.Query, format Format, version string) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var before audit.Head
	for rec, err := range r.Read(ctx, q) {
		if err == nil && rec.Kind == audit.KindCheckpoint {
			before = rec.Head()
			continue
		}
		if err == nil && format == OCSF && before.Seq != rec.Seq-1 {
			before, err = findBefore(ctx, r, rec.Seq)
		}
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		line, err := NewLine(&rec, before, format, version)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		before = rec.Head()
		if _, err := out.WriteString(line.Text + "\n"); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return out.Flush()
}

// findBefore returns the head of the record before the one with a number, the zero head of
// none.
func findBefore(ctx context.Context, r audit.Reader, seq int64) (audit.Head, error) {
	for rec, err := range r.Read(ctx, audit.Query{After: max(seq-2, 0)}) {
		if err != nil || rec.Seq == seq-1 {
			return rec.Head(), err
		}
		break
	}
	return audit.Head{}, nil
}

// Line is a record in one of the forms.
type Line struct {
	// Event is the record that the line is of, and Hash its place in the chain.
	Event audit.Event
	// Hash is that of the record.
	Hash audit.Hash
	// Text has no end of line.
	Text string
	// Severity is how much the event matters: 1 informational, 2 low, 3 medium.
	Severity int
}

// NewLine returns a record in one of the forms; a checkpoint has none. Before is the record
// before it; the zero head is that of the first one.
func NewLine(rec *audit.Record, before audit.Head, format Format, version string) (Line, error) {
	e, err := rec.Event()
	if err != nil {
		return Line{}, fmt.Errorf("record %d: %w", rec.Seq, err)
	}
	e.Seq = rec.Seq
	line := Line{Event: e, Hash: rec.Hash, Severity: severityOf(&e)}
	switch format {
	case CEF:
		line.Text = cefLine(&e, rec.Hash.String(), version)
	case JSONL:
		line.Text, err = jsonLine(rec)
	default:
		line.Text, err = ocsfLine(&e, rec.Head(), before, version)
	}
	if err != nil {
		return Line{}, fmt.Errorf("record %d: %w", rec.Seq, err)
	}
	return line, nil
}

// oneRecord is a reader over one record.
type oneRecord struct{ *audit.Record }

func (o oneRecord) Read(context.Context, audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) { yield(*o.Record, nil) }
}

// jsonLine returns the line of the export that verifies.
func jsonLine(rec *audit.Record) (string, error) {
	var b strings.Builder
	err := audit.Export(context.Background(), oneRecord{rec}, &b, audit.Query{})
	return strings.TrimSuffix(b.String(), "\n"), err
}

// event is an API Activity. The comments name the enumerations of the schema.
type event struct {
	Attestation  *attestation   `json:"attestation"`
	ActivityID   int            `json:"activity_id"` // 1 Create, 2 Read, 3 Update, 4 Delete, 99 Other
	ActivityName string         `json:"activity_name"`
	Actor        actor          `json:"actor"`
	Agent        *aiAgent       `json:"ai_agent,omitempty"`
	API          api            `json:"api"`
	CategoryUID  int            `json:"category_uid"`
	ClassUID     int            `json:"class_uid"`
	Delegation   *delegation    `json:"delegation,omitempty"`
	Duration     int64          `json:"duration,omitempty"` // milliseconds
	Message      string         `json:"message,omitempty"`
	Metadata     metadata       `json:"metadata"`
	SeverityID   int            `json:"severity_id"` // 1 Informational, 2 Low, 3 Medium
	SrcEndpoint  endpoint       `json:"src_endpoint"`
	Status       string         `json:"status"`
	StatusCode   string         `json:"status_code,omitempty"`
	StatusDetail string         `json:"status_detail,omitempty"`
	StatusID     int            `json:"status_id"` // 0 Unknown, 1 Success, 2 Failure
	Time         int64          `json:"time"`      // milliseconds since 1970
	TypeUID      int            `json:"type_uid"`  // class_uid * 100 + activity_id
	Unmapped     map[string]any `json:"unmapped"`
}

type actor struct {
	User    user     `json:"user"`
	Session *session `json:"session,omitempty"`
}

type user struct {
	Name string `json:"name"`
}

type session struct {
	UID string `json:"uid"`
}

// aiAgent is the agent as the client names it.
type aiAgent struct {
	UID         string `json:"uid"`
	InstanceUID string `json:"instance_uid,omitempty"` // its session
	TypeID      int    `json:"type_id"`                // 0 Unknown
}

// delegation is the call under which a sub-agent made another one.
type delegation struct {
	UID       string `json:"uid"`
	ParentUID string `json:"parent_uid,omitempty"`
}

type api struct {
	Operation string      `json:"operation"`
	Request   *apiRequest `json:"request,omitempty"`
	Service   *named      `json:"service,omitempty"`
}

type apiRequest struct {
	UID string `json:"uid"`
}

type named struct {
	Name string `json:"name"`
}

type endpoint struct {
	Name string `json:"name"`
}

type metadata struct {
	Product  product  `json:"product"`
	Profiles []string `json:"profiles"`
	Sequence int64    `json:"sequence"`
	UID      string   `json:"uid"`
	Version  string   `json:"version"`
}

type product struct {
	Name       string `json:"name"`
	VendorName string `json:"vendor_name"`
	Version    string `json:"version"`
}

// ocsfEvent maps a record. What a call does is not known from its name, so that every
// call is the activity Other with the kind of the record as its name.
func ocsfEvent(e *audit.Event, hash audit.Hash, version string) *event {
	o := &event{
		ActivityID: other, ActivityName: string(e.Kind), CategoryUID: categoryApplication, ClassUID: classAPIActivity, TypeUID: typeOther,
		Actor: actor{User: user{e.Principal}}, API: api{Operation: operationOf(e), Request: &apiRequest{e.CallID}, Service: &named{"sallyport"}},
		Metadata:   metadata{Product: product{"Sallyport", "Sallyport", version}, Profiles: []string{profileAI, profileIntegrity}, Sequence: e.Seq, UID: audit.Head{Seq: e.Seq, Hash: hash}.String(), Version: ocsfVersion},
		SeverityID: severityOf(e), SrcEndpoint: endpoint{orWord(string(e.Platform), "operator")}, Duration: e.Duration.Milliseconds(),
		Time: e.Time.UnixMilli(), StatusCode: string(e.Code), StatusDetail: string(e.Error), Message: messageOf(e),
		Unmapped: map[string]any{"hash": hash, "kind": e.Kind},
	}
	o.Status, o.StatusID = statusOf(e)
	if e.Session != "" {
		o.Actor.Session = &session{string(e.Session)}
	}
	if e.Agent != "" {
		o.Agent = &aiAgent{UID: string(e.Agent), InstanceUID: string(e.Session)}
	}
	if e.DelegatedBy != "" {
		calls := strings.Split(e.DelegatedBy, "/")
		o.Delegation = &delegation{UID: calls[len(calls)-1]}
		if len(calls) > 1 {
			o.Delegation.ParentUID = calls[len(calls)-2]
		}
	}
	for key, value := range map[string]string{
		"role": string(e.Personality), "step": string(e.Stage), "team": string(e.Team), "args_sha256": e.ArgsDigest, "args": string(e.Args), "level": string(e.Level),
	} {
		if value != "" {
			o.Unmapped[key] = value
		}
	}
	if e.Change != nil {
		o.Unmapped["change"] = e.Change
	}
	return o
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// operationOf returns what was called or changed.
func operationOf(e *audit.Event) string {
	if e.Change != nil {
		return string(e.Change.Action)
	}
	return orWord(string(e.Tool), "unknown")
}

// messageOf returns why a call was refused, as the step said it.
func messageOf(e *audit.Event) string {
	for i := len(e.Decisions) - 1; i >= 0; i-- {
		if d := &e.Decisions[i]; !d.Allowed && d.Why != "" {
			return d.Why
		}
	}
	return ""
}

// severityOf returns how much an event matters: a refusal more than a failure.
func severityOf(e *audit.Event) int {
	switch {
	case e.Denied():
		return 3
	case e.Kind == audit.KindOutcome && !e.OK:
		return 2
	default:
		return 1
	}
}

func statusOf(e *audit.Event) (string, int) {
	switch {
	case e.Kind == audit.KindIntent:
		return "Unknown", 0
	case e.Kind == audit.KindOutcome && e.OK, e.Kind == audit.KindChange && e.Error == "":
		return "Success", 1
	default:
		return "Failure", 2
	}
}
