package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/setting"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// exceptionsSetting is the name of the setting with all exceptions.
	exceptionsSetting = "approvals.always"
	// maxExceptions bounds the exceptions of one principal, maxExceptionsTotal those
	// of all.
	maxExceptions, maxExceptionsTotal = 200, 1000
)

// ErrExceptionsUnreadable: the state holds exceptions that this program did not write.
var ErrExceptionsUnreadable = errors.New("what is allowed for always cannot be read and allows nothing; sallyport approvals revoke --all removes it")

// Exception lets a call run without another question whenever it is made exactly as a
// person saw it, in any session. It is plain data and does not change.
type Exception struct {
	// ID is that of the held call.
	ID string `json:"id"`
	// Digest is that of the held call, which binds everything in which two calls can
	// differ, and what held it.
	Digest string `json:"digest"`
	// Tool is the tool, as people were shown it, like what follows.
	Tool string `json:"tool"`
	// Principal is who asked.
	Principal string `json:"principal"`
	// Personality is the role of the call; it may be empty.
	Personality string `json:"personality,omitempty"`
	// Args holds the arguments, shortened.
	Args string `json:"args"`
	// Why says what held the call.
	Why string `json:"why,omitempty"`
	// Targets lists what the names of connections and of the mail relay stand for.
	Targets []string `json:"targets,omitempty"`
	// By is the name of the person who gave it.
	By string `json:"by,omitempty"`
	// Person is who gave it as far as that is known, where By is a name that was not
	// verified; empty for By.
	Person string `json:"person,omitempty"`
	// Reason is that person's reason; it may be empty.
	Reason string `json:"reason,omitempty"`
	// Given is the time from which it counts.
	Given time.Time `json:"given,omitzero"`
	// Expires is the time at which it ends; the zero time is never.
	Expires time.Time `json:"expires_at,omitzero"`
}

// ProposeException returns the exception that an "always" about a held call would make.
func ProposeException(a *sallyport.Approval) *Exception {
	return &Exception{
		ID: a.ID, Digest: a.Digest, Tool: a.Tool, Principal: a.Principal, Personality: a.Personality,
		Args: text.Clip(a.Args, ruleArgs), Why: a.Why, Targets: slices.Clone(a.Targets),
	}
}

// over reports whether the exception has ended.
func (e *Exception) over(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// counts reports whether the exception counts at a time. One that was given later than
// now is one of another clock.
func (e *Exception) counts(now time.Time) bool { return !now.Before(e.Given) && !e.over(now) }

// GiveException stores an exception in the name of by and closes the held call that it
// is about, which runs by it. Until it is stored nothing has changed. It counts for a span; 0 is for ever.
func (s *Rules) GiveException(ctx context.Context, e Exception, by Decider, reason string, span time.Duration) error {
	a, err := s.held.Get(ctx, e.ID)
	if err != nil {
		return err
	}
	now := s.o.Now()
	decided := a
	if err := decided.YieldToRule(now, by.Name, e.ID, reason); err != nil {
		return err
	}
	if a.Digest != e.Digest || span < 0 {
		return errors.New("the exception is not about this held call")
	}
	e.By, e.Person = by.splitName()
	e.Reason, e.Given, e.Expires = decided.Reason, now.UTC(), time.Time{}
	if span > 0 {
		e.Expires = now.Add(span).UTC()
	}
	if err := s.addException(ctx, &e); err != nil {
		return err
	}
	if err := s.held.YieldToRule(ctx, e.ID, e.By, e.ID, reason); err != nil {
		// Another person has decided since.
		_, undone := s.EndExceptions(ctx, func(old *Exception) bool { return old.ID == e.ID })
		return errors.Join(err, undone)
	}
	return nil
}

// addException stores an exception, and drops those that are over.
func (s *Rules) addException(ctx context.Context, e *Exception) error {
	return s.changeExceptions(ctx, func(list []Exception) ([]Exception, error) {
		own := 0
		list = slices.DeleteFunc(list, func(old Exception) bool { return old.over(s.o.Now()) })
		for i := range list {
			if list[i].Principal == e.Principal {
				own++
			}
		}
		switch {
		case slices.ContainsFunc(list, func(old Exception) bool { return old.ID == e.ID }):
			return nil, errors.New("there already is an exception for this held call")
		case own >= maxExceptions:
			return nil, fmt.Errorf("%s has %d exceptions, which is the most: revoke one first", e.Principal, own)
		case len(list) >= maxExceptionsTotal:
			return nil, fmt.Errorf("there are %d exceptions, which is the most: revoke one first", len(list))
		}
		return append(list, *e), nil
	})
}

// useException lets a call run that a person allowed for always, and says so in words
// for the record. One whose principal may not call any more, or has another token, ends
// here.
func (s *Rules) useException(ctx context.Context, a *sallyport.Approval) (said string, ok bool, err error) {
	list, err := s.readExceptions(ctx)
	if err != nil {
		return "", false, err
	}
	for i := range list {
		e := &list[i]
		if e.Digest != a.Digest || a.Digest == "" || !e.counts(s.o.Now()) || !s.giverCounts(a, e.By, e.Person) {
			continue
		}
		if denied, err := s.isDenied(ctx, a.Digest); denied || err != nil {
			return "", false, err
		}
		if s.o.Stands != nil {
			stands, err := s.o.Stands(ctx, e.Principal, e.Given)
			if err == nil && !stands {
				_, err = s.EndExceptions(ctx, func(old *Exception) bool { return old.ID == e.ID })
			}
			if err != nil {
				return "", false, err
			}
			if !stands {
				continue
			}
		}
		return fmt.Sprintf("allowed for always by %s (exception %s)%s", e.By, e.ID, text.ReasonSuffix(e.Reason)), true, nil
	}
	return "", false, nil
}

// Exceptions returns the exceptions that count, the oldest first.
func (s *Rules) Exceptions(ctx context.Context) ([]Exception, error) {
	list, err := s.readExceptions(ctx)
	return slices.DeleteFunc(list, func(e Exception) bool { return !e.counts(s.o.Now()) }), err
}

// EndExceptions ends the exceptions that a function selects, and returns them.
// Exceptions that cannot be read all end.
func (s *Rules) EndExceptions(ctx context.Context, which func(e *Exception) bool) (gone []Exception, err error) {
	list, err := s.readExceptions(ctx)
	if errors.Is(err, ErrExceptionsUnreadable) {
		return nil, s.settings.Delete(ctx, exceptionsSetting)
	}
	if err != nil || !slices.ContainsFunc(list, func(e Exception) bool { return which(&e) }) {
		return nil, err
	}
	err = s.changeExceptions(ctx, func(list []Exception) ([]Exception, error) {
		gone = nil
		return slices.DeleteFunc(list, func(e Exception) bool {
			if !which(&e) {
				return false
			}
			gone = append(gone, e)
			return true
		}), nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// readExceptions returns all exceptions, in a list of its own.
func (s *Rules) readExceptions(ctx context.Context) ([]Exception, error) {
	text, ok, err := s.settings.Get(ctx, exceptionsSetting)
	if err != nil || !ok {
		return nil, err
	}
	return s.decodeExceptions(text)
}

// decodeExceptions returns the exceptions of a text. A field that this program does not
// know may be a bound: nothing runs by such exceptions.
func (s *Rules) decodeExceptions(text string) ([]Exception, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.exceptionsText {
		return slices.Clone(s.exceptions), nil
	}
	var list []Exception
	if err := setting.Decode(text, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExceptionsUnreadable, err)
	}
	s.exceptionsText, s.exceptions = text, list
	return slices.Clone(list), nil
}

// changeExceptions changes all exceptions in one write, on top of what other processes
// wrote.
func (s *Rules) changeExceptions(ctx context.Context, do func(list []Exception) ([]Exception, error)) error {
	return setting.Change(ctx, s.settings, exceptionsSetting, func(was string, ok bool) (string, error) {
		var list []Exception
		var err error
		if ok {
			if list, err = s.decodeExceptions(was); err != nil {
				return "", err
			}
		}
		if list, err = do(list); err != nil {
			return "", err
		}
		text, err := json.Marshal(list)
		return string(text), err
	})
}
