package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/internal/suggest"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/internal/yamledit"
)

// Suggestion is the least role that would have allowed what was allowed.
type Suggestion struct {
	// Role is the name of the role.
	Role string `json:"role"`
	// YAML is the whole role, as a configuration holds it.
	YAML string `json:"yaml"`
	// Definition is the same as JSON.
	Definition json.RawMessage `json:"definition"`
	// Calls is the number of calls of the role in the record.
	Calls int `json:"calls"`
	// Proved is the number of those that were allowed, and that the configuration with
	// this role decides as the one in force does.
	Proved int `json:"proved"`
	// Refused is the number of those that were refused, or are refused today: nothing was
	// learnt from them.
	Refused int `json:"refused"`
	// Unknown is the number of those that cannot be decided again.
	Unknown int `json:"not_replayable"`
	// Reasons counts the latter by why.
	Reasons map[string]int `json:"not_replayable_reasons,omitempty"`
	// LeftOut says what is left as it is today or not taken, and why.
	LeftOut []suggest.Remark `json:"left_out"`
	// Always is what people allowed for always, as a configuration would say it.
	Always []AlwaysText `json:"always,omitempty"`
}

// maxDrafts bounds the drafts of a role. Each one leaves a further part as it is today.
const maxDrafts = 40

// maxReasons bounds the different reasons that are counted.
const maxReasons = 100

// SuggestRole returns the least role that would have allowed the calls of a role that the
// record has from a time on. It is proved: with it, the calls that were allowed are decided
// as they are today, and each tool reaches what it was seen to touch and no more than today.
// An error says what cannot be proved.
func (rt *Runtime) SuggestRole(ctx context.Context, name string, since time.Time) (*Suggestion, error) {
	if _, err := rt.InForce().Config.Choose(name); err != nil || name == "" {
		return nil, errors.Join(err, errorIf(name == "", "name the role with --role"))
	}
	s, err := rt.newSuggester(name, since)
	if err != nil {
		return nil, err
	}
	if err := rt.judgePast(ctx, since, true, s.learnCall); err != nil {
		return nil, err
	}
	if len(s.learnt.Tools()) == 0 {
		return nil, fmt.Errorf("the record has no call of the role %s that was allowed and that the role allows today, of %d in all", name, s.out.Calls)
	}
	wide := suggest.Wide{}
	for range maxDrafts {
		draft := s.learnt.Draft(&s.role, wide)
		proved, err := s.proveDraft(ctx, draft, wide)
		if err != nil {
			return nil, err
		}
		if proved {
			s.out.LeftOut = append(s.out.LeftOut, draft.LeftOut...)
			s.out.Definition = suggest.JSONOf(draft.Role)
			return &s.out, s.addAlways(ctx)
		}
	}
	return nil, errors.New("no role that is narrower than today's could be proved: parts of it went on to fail")
}

func errorIf(is bool, said string) error {
	if is {
		return errors.New(said)
	}
	return nil
}

// suggester finds the least role of one name.
type suggester struct {
	rt    *Runtime
	since time.Time
	file  string         // the file that has the role, or the first one
	text  *yamldoc.Value // of that file
	role  suggest.Role

	learnt  *suggest.Record
	refused map[string]int // calls by tool that the role refuses today
	// allowed and held are the records of calls that have to stay so.
	allowed, held seqSet
	out           Suggestion
}

func (rt *Runtime) newSuggester(name string, since time.Time) (*suggester, error) {
	if rt.Builtin || len(rt.InForce().Config.Files) == 0 {
		return nil, fmt.Errorf("there is no %s whose roles could be narrowed: write one with '%s'", ConfigName, rt.CommandLine("init"))
	}
	p := rolesOf(rt.InForce().Config, rt.InForce().Tools)[name]
	s := &suggester{rt: rt, since: since, refused: map[string]int{}, role: suggest.Role{Personality: p, Spell: rt.spellPath}, out: Suggestion{Role: name, LeftOut: []suggest.Remark{}}}
	if err := s.readFile(name); err != nil {
		return nil, err
	}
	tools := map[string]*suggest.Tool{}
	for _, t := range rt.InForce().Registry.Tools() {
		if !suggest.Offers(p, &t) {
			continue
		}
		grant, err := rt.InForce().Registry.GrantUnder(&t, p)
		if err != nil {
			return nil, fmt.Errorf("what %s may touch cannot be told: %w", t.ID(), err)
		}
		tools[t.ID()] = &suggest.Tool{Tool: t, Grant: grant}
	}
	o := suggest.Options{Tools: tools, KindOf: func(set string) sallyport.ValueKind { return rt.InForce().Config.Known[set].Kind }}
	if len(rt.InForce().Config.Known) > 0 {
		sets := rt.InForce().sets
		names := slices.Sorted(maps.Keys(rt.InForce().Config.Known))
		o.SetsOf = func(value string) (holding []string, err error) {
			for _, set := range names {
				has, err := sets.Has(context.Background(), set, value)
				if err != nil {
					return nil, err
				}
				if has {
					holding = append(holding, set)
				}
			}
			return holding, nil
		}
	}
	s.learnt = suggest.New(&o)
	return s, nil
}

// readFile finds the file that has the role.
func (s *suggester) readFile(name string) error {
	for i, path := range s.rt.InForce().Config.Files {
		data, ok := s.rt.Env.Texts[path]
		if !ok {
			var err error
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		source := yamldoc.Source{Name: path}
		if faults := source.Parse(data, yamldoc.Bounds{Bytes: len(data), YAMLBytes: len(data), YAMLKeys: len(data)}); len(faults) > 0 || source.Root == nil {
			return fmt.Errorf("%s changed while it was read", path)
		}
		role := suggest.FindRole(source.Root, name)
		if i == 0 || role != nil {
			s.file, s.text, s.role.Text = path, source.Root, role
		}
		if role != nil {
			return nil
		}
	}
	return nil
}

// spellPath returns a path as a configuration spells it.
func (rt *Runtime) spellPath(path string) string {
	workspace := rt.InForce().Config.Workspace
	if workspace == "" || workspace == "/" || !reach.Within(workspace, path) {
		return path
	}
	return "${workspace}" + strings.TrimPrefix(path, workspace)
}

// learnCall takes a call of the role.
func (s *suggester) learnCall(j *judgedCall) error {
	e := j.event
	if string(e.Personality) != s.out.Role {
		return nil
	}
	s.out.Calls++
	c := suggest.Call{Event: e, Whole: true, Untrusted: hasReadUntrusted(j.read)}
	switch {
	case j.unknown != "":
		s.out.Unknown++
		s.countReason(j.unknown)
		if !j.mayHaveRun() {
			return nil
		}
		c.Whole = false
	case !j.ran || e.Stage != "" || endedAtAccess(e):
		s.out.Refused++
		return nil
	case j.is.Outcome == replay.Allowed:
		s.allowed.add(e.Seq)
		s.out.Proved++
	case j.is.Outcome == replay.Held:
		s.held.add(e.Seq)
		s.out.Proved++
	default:
		s.out.Refused++
		s.refused[string(e.Tool)]++
		return nil
	}
	return s.learnt.Add(&c)
}

// endedAtAccess reports whether a call failed and was refused something that it tried to
// touch. Where a child was refused it, the tool alone says how the call ended.
func endedAtAccess(e *audit.Event) bool {
	return !e.OK && slices.ContainsFunc(e.Decisions, func(d sallyport.Decision) bool { return d.Step == sallyport.StepAccess && !d.Allowed })
}

// mayHaveRun reports whether a call that cannot be decided again was let run, as far as its
// record says.
func (j *judgedCall) mayHaveRun() bool {
	return j.event.Stage == "" && !j.event.DryRun && j.event.ArgsDigest != ""
}

func (s *suggester) countReason(why string) {
	if s.out.Reasons == nil {
		s.out.Reasons = map[string]int{}
	}
	if _, ok := s.out.Reasons[why]; !ok && len(s.out.Reasons) >= maxReasons {
		why = "another reason"
	}
	s.out.Reasons[why]++
}

// proveDraft builds the configuration with a draft, and decides the calls again. What does
// not hold is added to the wide parts.
func (s *suggester) proveDraft(ctx context.Context, draft *suggest.Draft, wide suggest.Wide) (proved bool, err error) {
	if s.out.YAML, err = yamledit.Write(suggest.Below(draft.Role, "personalities", s.out.Role)); err != nil {
		return false, fmt.Errorf("the role %w", err)
	}
	// What is proved is what is printed: its text is read again.
	printed := yamldoc.Source{Name: "role.yaml"}
	bounds := yamldoc.Bounds{Bytes: len(s.out.YAML), YAMLBytes: len(s.out.YAML), YAMLKeys: len(s.out.YAML)}
	if faults := printed.Parse([]byte(s.out.YAML), bounds); len(faults) > 0 {
		return false, fmt.Errorf("the role cannot be read again: %s", faults[0].Message)
	}
	whole, err := s.writeFile(suggest.ReplaceRole(s.text, suggest.FindRole(printed.Root, s.out.Role), s.out.Role))
	if err != nil {
		return false, fmt.Errorf("%s with the role %w", s.file, err)
	}
	env := *s.rt.Env
	env.Stderr, env.Texts = io.Discard, maps.Clone(s.rt.Env.Texts)
	if env.Texts == nil {
		env.Texts = map[string][]byte{}
	}
	env.Texts[s.file] = whole
	next, err := OpenForSuggest(ctx, &env, s.rt.InForce().Config.Files)
	if err != nil && s.learnt.KeepArguments(wide, "the configuration does not load otherwise: "+err.Error()) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the configuration with the narrowed role does not load, so it is not printed: %w", err)
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	if held, err := s.proveGrants(next, wide); err != nil || !held {
		return false, err
	}
	return s.proveCalls(ctx, next, wide)
}

// writeFile returns the text of a file, in the format of its name.
func (s *suggester) writeFile(file *yamldoc.Value) ([]byte, error) {
	if strings.EqualFold(filepath.Ext(s.file), ".json") {
		return suggest.JSONOf(file), nil
	}
	text, err := yamledit.Write(file)
	return []byte(text), err
}

// proveGrants compares what the tools may touch with what they touched, and with today.
func (s *suggester) proveGrants(next *Runtime, wide suggest.Wide) (held bool, err error) {
	p, ok := next.InForce().Config.Personality(s.out.Role)
	if !ok {
		return false, fmt.Errorf("the narrowed configuration has no role %s", s.out.Role)
	}
	held = true
	for _, t := range next.InForce().Registry.Tools() {
		now, err := next.InForce().Registry.GrantUnder(&t, p)
		if err != nil {
			return false, err
		}
		held = s.learnt.CheckGrant(t.ID(), now, wide) && held
	}
	return held, nil
}

// proveCalls decides the calls again that were learnt from.
func (s *suggester) proveCalls(ctx context.Context, next *Runtime, wide suggest.Wide) (held bool, err error) {
	left := s.out.Proved
	held = true
	err = next.judgePast(ctx, s.since, true, func(j *judgedCall) error {
		want := replay.Allowed
		switch {
		case s.held.has(j.event.Seq):
			want = replay.Held
		case !s.allowed.has(j.event.Seq):
			return nil
		}
		left--
		if j.unknown == "" && j.is.Outcome == want {
			return nil
		}
		is := j.is
		if j.unknown != "" {
			is = replay.Verdict{Unknown: j.unknown}
		}
		fresh := wide.KeepCall(string(j.event.Tool), &is)
		if held && !fresh {
			return fmt.Errorf("not proved: the call %s of %s would be %s: %s%s", j.event.CallID, j.event.Tool, is.Outcome, is.Why, is.Unknown)
		}
		held = false
		return nil
	})
	if err == nil && held && left != 0 {
		err = fmt.Errorf("the record changed: %d calls are not in it any more", left)
	}
	return held && err == nil, err
}

// seqSet is a set of the numbers of records, a bit each.
type seqSet struct {
	first int64
	bits  []uint64
}

func (s *seqSet) add(seq int64) {
	if s.bits == nil {
		s.first = seq &^ 63
	}
	i := (seq - s.first) / 64
	for int64(len(s.bits)) <= i {
		s.bits = append(s.bits, 0)
	}
	s.bits[i] |= 1 << (seq & 63)
}

func (s *seqSet) has(seq int64) bool {
	i := (seq - s.first) / 64
	return seq >= s.first && i < int64(len(s.bits)) && s.bits[i]&(1<<(seq&63)) != 0
}

// hasReadUntrusted reports whether marks say that untrusted content was read.
func hasReadUntrusted(marks []sallyport.FactMark) bool {
	return slices.ContainsFunc(marks, func(m sallyport.FactMark) bool { return m.Fact == sallyport.FactUntrusted })
}
